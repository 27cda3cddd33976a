#!/usr/bin/perl
# List the kinds of kernel code in a file that nvcc has made, one line each: "code 90" is machine code for
# sm_90, and "ptx 75" is PTX, which the driver compiles for 7.5 and later.  Each line has the number of
# entries and their bytes.
#
#	test/cuda/fatbin.pl FILE
#
# cuobjdump prints the same, but not every toolkit has it.  A container in the section .nv_fatbin begins with
# 0xBA55ED50, a version, the size of its header and the size of its entries.  An entry begins with its kind
# (1 PTX, 2 machine code), the size of its header, the size of its data, and its capability.
use strict;
use warnings;

my ($file) = @ARGV or die "usage: $0 FILE\n";
my ($offset, $size);

open(my $sections, '-|', 'readelf', '-SW', $file) or die "readelf: $!\n";
while (<$sections>)
{
	($offset, $size) = (hex($1), hex($2))
	  if /\s\.nv_fatbin\s+\S+\s+[0-9a-f]+\s+([0-9a-f]+)\s+([0-9a-f]+)/;
}
close($sections);
defined $size or die "$file has no kernels\n";

open(my $in, '<:raw', $file) or die "$file: $!\n";
seek($in, $offset, 0);
read($in, my $data, $size) == $size or die "$file is not complete\n";

my (%count, %bytes);
my $at = 0;
while ($at + 16 <= $size)
{
	my ($magic, $version, $header, $entries) = unpack('L<S<S<Q<', substr($data, $at, 16));

	if ($magic != 0xBA55ED50)
	{
		$at += 8;    # containers are aligned
		next;
	}
	$at += $header;
	my $end = $at + $entries;
	while ($at + 32 <= $end)
	{
		my ($kind, undef, $before, $payload) = unpack('S<S<L<Q<', substr($data, $at, 16));
		my $capability = unpack('L<', substr($data, $at + 28, 4));
		my $name = ($kind == 1 ? 'ptx' : $kind == 2 ? 'code' : "kind-$kind") . " $capability";

		$count{$name}++;
		$bytes{$name} += $payload;
		$at += $before + $payload;
	}
	$at = $end;
}
print "$_ $count{$_} $bytes{$_}\n" for sort keys %count;
