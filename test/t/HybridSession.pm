# Persistent sessions: psql connected by pipes.
package HybridSession;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use POSIX ();
use PostgreSQL::Test::Utils;

our @EXPORT = qw(session_on session session_with ask finish processor_seconds);

my $node;

# session_on NODE: set the server for later sessions
sub session_on
{
	($node) = @_;
	return;
}

# session [USER]: start a session, which lasts as long as its value is kept
sub session
{
	my ($user) = @_;
	my $session = { in => '', out => '', err => '' };

	$session->{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=0', '-d', $node->connstr('postgres') . ($user ? " user=$user" : '') ],
		'<', \$session->{in}, '>', \$session->{out}, '2>', \$session->{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $session;
}

# session_with SQL: start a session, send it SQL, and do not wait; at its end it prints a line 'done'
sub session_with
{
	my ($sql) = @_;
	my $session = session();

	$session->{in} .= "$sql;\n\\echo done\n";
	$session->{run}->pump_nb;
	return $session;
}

# ask SESSION, SQL: run SQL, wait for the answer and return it
sub ask
{
	my ($session, $sql) = @_;
	my $out;

	$session->{out} = '';
	$session->{in} .= "$sql;\n\\echo done\n";
	IPC::Run::pump($session->{run}) until $session->{out} =~ /^done\n/m;
	($out = $session->{out}) =~ s/^done\n//m;
	chomp $out;
	return $out;
}

# processor_seconds PID: return the processor time that a process has used, which other processes do not lengthen
sub processor_seconds
{
	my ($pid) = @_;
	# what follows the name: the twelfth and thirteenth are utime and stime
	my @fields = split ' ', slurp_file("/proc/$pid/stat") =~ s/^.*\) //sr;

	return ($fields[11] + $fields[12]) / POSIX::sysconf(POSIX::_SC_CLK_TCK());
}

sub finish
{
	my ($session) = @_;

	$session->{in} .= "\\q\n";
	IPC::Run::finish($session->{run});
	return;
}

1;
