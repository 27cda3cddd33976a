# A server that is cut off in the middle of a change to an index.
#
# Recovery from a backup ends after one of the records of a statement, as if the server had lost the rest.
package HybridCut;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(node_to_cut records cut lost kinds);

# node_to_cut NAME [, CONFIGURATION]: start a server whose WAL is kept and has no page images
sub node_to_cut
{
	my ($name, $more) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init;
	$node->append_conf('postgresql.conf', q{
autovacuum = off
checkpoint_timeout = 1h
max_wal_size = 2GB
wal_level = replica
max_wal_senders = 2
full_page_writes = off
} . ($more // ''));
	$node->start;
	return $node;
}

# records NODE, INDEX, WHAT: make a backup, run WHAT, which is SQL or a sub, and return the backup's name and the
# WAL records about the index: where each ends, and the blocks it changes
my $backups = 0;
sub records
{
	my ($node, $index, $what) = @_;
	my $name = 'base' . ++$backups;
	my ($path) = $node->safe_psql('postgres', "SELECT pg_relation_filepath('$index')") =~ m{([^/]+)$};
	my (@records, $from, $to);

	$node->backup($name);
	$from = $node->lsn('insert');
	ref $what ? $what->() : $node->safe_psql('postgres', $what);
	$to = $node->lsn('insert');
	$node->safe_psql('postgres', 'SELECT pg_switch_wal()');
	my ($dump) = run_command([ 'pg_waldump', '--path', $node->data_dir . '/pg_wal', '--start', $from, '--end', $to,
		'--rmgr', 'Generic', '--bkp-details' ]);
	for my $line (split /\n/, $dump)
	{
		push @records, { lsn => $1, blocks => [] } if $line =~ /lsn: ([0-9A-F]+\/[0-9A-F]+)/;
		push @{ $records[-1]{blocks} }, $1 if $line =~ m{blkref #\d+: rel \d+/\d+/$path (?:fork main )?blk (\d+)};
	}
	return ($name, grep { @{ $_->{blocks} } } @records);
}

# cut NODE, BACKUP, LSN: return a server that has recovered from the backup up to and including a record
my $cuts = 0;
sub cut
{
	my ($node, $backup, $lsn) = @_;
	my $server = PostgreSQL::Test::Cluster->new('cut' . ++$cuts);

	$server->init_from_backup($node, $backup);
	$server->append_conf('postgresql.conf', "restore_command = 'cp \"" . $node->data_dir . "/pg_wal/%f\" \"%p\"'
recovery_target_lsn = '$lsn'
recovery_target_action = 'promote'");
	$server->set_recovery_mode;
	$server->start;
	$server->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');
	return $server;
}

# lost SERVER, INDEX: return the number of unreferenced pages that the check reports
sub lost
{
	my ($server, $index) = @_;
	my $err;
	my $rc = $server->psql('postgres', "SELECT hybrid_index_check('$index')", stderr => \$err);

	return "error: $err" if $rc != 0;
	return $err =~ /has (\d+) unreferenced pages/ ? $1 : 0;
}

# kinds NODE, INDEX [, FIRST, PAGES]: return the number of pages of each kind on disk, of the whole file or of
# PAGES pages from block FIRST on
my %kind = (LIST => 3, VECTORS => 5, FREE => 7, TAKEN => 8);    # as index/page/page.h has them
sub kinds
{
	my ($node, $index, $first, $pages) = @_;
	my $path = $node->data_dir . '/' . $node->safe_psql('postgres', "CHECKPOINT; SELECT pg_relation_filepath('$index')");
	my $file = slurp_file($path);
	my %count = map { $_ => 0 } values %kind;

	$first //= 0;
	$pages //= length($file) / 8192 - $first;
	# it is said in the last bytes of a page but two
	$count{ unpack('S', substr($file, $_ * 8192 - 4, 2)) }++ for $first + 1 .. $first + $pages;
	return { map { $_ => $count{ $kind{$_} } } keys %kind };
}

1;
