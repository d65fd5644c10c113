// Package acceptance checks what an agent hands in before it may go to the landing queue: what no gate can see, because the
// patch changes the gates' own material. Each check is a function of the files before and after. It proves nothing: it finds
// what a person has to look at.
package acceptance

// Change is one file that a patch changes.
type Change struct {
	Path string
	// Before and After are the contents; nil where there is no such file.
	Before, After []byte
	// Unread says why the contents are not here; "" where they are.
	Unread string
}

// Verdict is what one check found.
type Verdict struct {
	// Check is the name of the check, and the class of the fault that it makes.
	Check string
	// Evidence is what is wrong, one sentence each, with the file and numbers; none where the patch passes.
	Evidence []string
}

// Passes reports whether the check found nothing.
func (v Verdict) Passes() bool { return len(v.Evidence) == 0 }

// check is one check: the files that it wants to see, and what it makes of them.
type check struct {
	name  string
	wants func(path string) bool
	judge func([]Change) []string
}

var checks = []check{{name: ClassTests, wants: IsTest, judge: weakened}} //nolint:gochecknoglobals // a constant table

// Wants reports whether a check wants to see the file.
func Wants(path string) bool {
	for _, c := range checks {
		if c.wants(path) {
			return true
		}
	}
	return false
}

// Judge returns the verdict of every check on the changes of one patch.
func Judge(changes []Change) []Verdict {
	out := make([]Verdict, 0, len(checks))
	for _, c := range checks {
		var own []Change
		for _, change := range changes {
			if c.wants(change.Path) {
				own = append(own, change)
			}
		}
		out = append(out, Verdict{Check: c.name, Evidence: c.judge(own)})
	}
	return out
}
