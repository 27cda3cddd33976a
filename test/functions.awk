# Prints functions of more than 80 lines or more than 7 parameters, and files of more than 700 lines. The files have the format of
# .clang-format: a body lies between a line "{" and a line "}", and an empty line precedes each function. Callbacks of PostgreSQL
# may have more parameters.
FNR == 701 { print FILENAME " has more than 700 lines" }
FNR == 1 || /^$/ { head = ""; first = FNR + 1 }
/^(\/\*| \*)/ { first = FNR + 1; next }
$0 == "{" {
	parameters = 1
	depth = 0
	for (i = length(head); i > 0; i--)
	{
		c = substr(head, i, 1)
		depth += (c == ")") - (c == "(")
		if (c == "," && depth == 1)
			parameters++
		if (c == "(" && depth == 0)
			break
	}
	name = match(substr(head, 1, i - 1), /[A-Za-z0-9_]+$/) ? substr(head, RSTART, RLENGTH) : ""
	if (head ~ /IndexUniqueCheck|IndexPath/)
		parameters = 0
	opened = first
}
{ head = head " " $0 }
$0 == "}" && name != "" {
	if (FNR - opened >= 80)
		print FILENAME ": " name " has " FNR - opened + 1 " lines"
	if (parameters > 7)
		print FILENAME ": " name " has " parameters " parameters"
	name = ""
}
