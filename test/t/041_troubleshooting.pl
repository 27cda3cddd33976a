# What an operator of a broken set-up sees is what docs/troubleshooting.md explains.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $guide = slurp_file(($ENV{HYBRID_DOCS} // 'docs') . '/troubleshooting.md');
# the texts of the first columns, without what stands for a number or a name in them
my %said = map { $_ => 1 } map { /`([^`]+)`/g } grep { defined } map { /^\| ([^|]*) \|/ ? $1 : undef } split /\n/, $guide;

my $node = PostgreSQL::Test::Cluster->new('broken');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hybrid');

# explained TEXT: the line of the guide that a text is found by; the longest
sub explained
{
	my ($text) = @_;

	my @lines = sort { length $b <=> length $a } grep { length > 10 && index($text, $_) >= 0 } keys %said;
	return $lines[0];
}

# detail PLUGIN: what hybrid_devices says of one
sub detail
{
	my ($plugin) = @_;

	return $node->safe_psql('postgres', qq{
		LOAD 'hybrid';
		SET hybrid.plugins = '$plugin';
		SELECT detail FROM hybrid_devices WHERE backend <> 'cpu' LIMIT 1});
}

is(explained(detail('no_such_plugin')), 'is not installed', 'a plug-in that is not there is in the guide');
SKIP:
{
	my $detail = detail('hybrid_cuda');

	skip 'there is no CUDA plug-in, or a driver', 1 if $detail !~ /driver/;
	isnt(explained($detail), undef, "the plug-in without a driver: '$detail' is in the guide");
}

# failing WORD: what a query that forces the device is told, with each way it can fail; and what hybrid_events has of it
sub failing
{
	my ($faults) = @_;
	my ($status, $out, $err) = $node->psql('postgres', qq{
		LOAD 'hybrid';
		SET hybrid.plugins = 'hybrid_emulated';
		SET hybrid.emulated_faults = '$faults';
		SET hybrid.execution = gpu;
		\\set ON_ERROR_STOP off
		\\set VERBOSITY verbose
		SELECT hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[]);
		SELECT status FROM hybrid_events ORDER BY at DESC LIMIT 1});
	my ($code) = $err =~ /ERROR:  (\w{5}): could not .* on the device/;
	return ($code, $out);
}

my %codes = (nomem => '53000', quota => '53000', map { $_ => '58000' } qw(transient busy timeout context_lost bug));
for my $word (sort keys %codes)
{
	my ($code, $status) = failing("status=$word");

	is($code, $codes{$word}, "a device that fails with $word is forced: SQLSTATE");
	ok($said{$status}, "the status '$status' has its line");
	ok(index($guide, "$code |") > 0, "$code has its line");
}
my (undef, undef, $err) = $node->psql('postgres', q{
	LOAD 'hybrid';
	SET hybrid.plugins = 'no_such_plugin';
	SET hybrid.execution = gpu;
	\set VERBOSITY verbose
	SELECT hybrid_distances('[1,2]', ARRAY['[3,4]', '[1,2]']::vector[])});
like($err, qr/ERROR:  55000: could not .* on the device/, 'a device that is not there is forced: SQLSTATE');
ok(index($guide, '55000 |') > 0, '55000 has its line');

done_testing();
