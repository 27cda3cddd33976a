#!/usr/bin/perl
# Checks META.json by the rules of PGXN's specification 1.0.0, and that other files name the same version.
use strict;
use warnings;

use FindBin;
use JSON::PP;

chdir("$FindBin::RealBin/..") or die;

my @errors;
my $semver = qr/^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[A-Za-z][0-9A-Za-z-]*)?$/;

sub slurp
{
	my ($name) = @_;

	open(my $file, '<:raw', $name) or die "$name: $!\n";
	local $/;
	return <$file>;
}

# wrong MESSAGE, OK: note it unless OK
sub wrong
{
	my ($message, $ok) = @_;

	push @errors, $message unless $ok;
	return;
}

# text VALUE: a string with something in it
sub text
{
	my ($value) = @_;

	return defined $value && !ref $value && $value =~ /\S/;
}

# term VALUE: the name of a distribution, an extension or a tag
sub term
{
	my ($value) = @_;

	return text($value) && length $value > 1 && $value !~ m{[\s[:cntrl:]/\\]};
}

my $meta = decode_json(slurp('META.json'));
my %known = map { $_ => 1 } qw(name version abstract maintainer license provides meta-spec description
	generated_by tags no_index prereqs release_status resources);
my %licenses = map { $_ => 1 } qw(agpl_3 apache_1_1 apache_2_0 artistic_1 artistic_2 bsd freebsd gfdl_1_2 gfdl_1_3 gpl_1
	gpl_2 gpl_3 lgpl_2_1 lgpl_3_0 mit mozilla_1_0 mozilla_1_1 openssl perl_5 postgresql qpl_1_0 ssleay sun zlib open_source
	restricted unrestricted unknown);

wrong("unknown field $_", $known{$_} || /^x_/i) for keys %$meta;
wrong("no $_", text($meta->{$_})) for 'abstract', 'maintainer';
wrong('no valid name', term($meta->{name}));
wrong('no valid version', ($meta->{version} // '') =~ $semver);
wrong('unknown license', $licenses{ $meta->{license} // '' });
wrong('no meta-spec 1.0.0', ($meta->{'meta-spec'}{version} // '') eq '1.0.0');
wrong('unknown release_status', ($meta->{release_status} // 'stable') =~ /^(stable|testing|unstable)$/);
wrong('a version under development is unstable, another is not',
	($meta->{version} =~ /-/) == (($meta->{release_status} // 'stable') ne 'stable'));
wrong("tag $_", text($_) && length $_ < 256 && !m{[[:cntrl:]/\\]}) for @{ $meta->{tags} // [] };

for my $phase (keys %{ $meta->{prereqs} // {} })
{
	wrong("unknown phase $phase", $phase =~ /^(configure|build|test|runtime|develop)$/);
	while (my ($relation, $modules) = each %{ $meta->{prereqs}{$phase} })
	{
		wrong("unknown relation $relation", $relation =~ /^(requires|recommends|suggests|conflicts)$/);
		wrong("version of $_", term($_) && $modules->{$_} =~ /^(0|\d+\.\d+\.\d+)$/) for keys %$modules;
	}
}

wrong('nothing is provided', %{ $meta->{provides} // {} });
while (my ($name, $extension) = each %{ $meta->{provides} // {} })
{
	wrong("provides $name: not a name", term($name));
	wrong("provides $name: version", ($extension->{version} // '') =~ $semver);
	wrong("provides $name: there is no file $_", -f $_) for grep { defined } @$extension{ 'file', 'docfile' };
	wrong("provides $name: no file", text($extension->{file}));
	# 1.0 of the control file is 1.0.0 here
	my ($default) = slurp("$name.control") =~ /^default_version = '([^']+)'/m;
	wrong("provides $name: $name.control has version $default", $extension->{version} =~ /^\Q$default\E\.\d+(-|$)/);
	wrong("provides $name: its file is not that version's", $extension->{file} eq "$name--$default.sql");
}

# Debian's order of versions puts ~dev before the release
my ($debian) = slurp('debian/changelog') =~ /\((.*)-[^-]*\)/;
(my $expected = $meta->{version}) =~ s/-/~/;
wrong("debian/changelog has version $debian", $debian eq $expected);

print "META.json: $_\n" for @errors;
exit(@errors > 0);
