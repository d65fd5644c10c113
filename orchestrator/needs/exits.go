package needs

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/orchestrator/run"
)

var (
	shells   = lazyregexp.New(`^(?:ba|da|z|k)?sh$`)
	quoted   = lazyregexp.New(`'[^']*'|"(?:[^"\\]|\\.)*"|\\.`)
	forgives = lazyregexp.New(`\|\|\s*(?:true|:|exit\s+0)(?:\s|;|$)`)
	pipes    = lazyregexp.New(`[^|>]\|(?:[^|]|$)`)
)

// exitNotices reports gates whose exit code is not that of what they check: they can be green without a failure being seen.
func exitNotices(s *run.Spec) (notices []string) {
	for _, g := range s.Project.Gates {
		var why string
		switch script := quoted.ReplaceAllLiteralString(scriptIn(g.Command), "x"); {
		case forgives.MatchString(script):
			why = "|| true hides the exit code of the command before it: only failures named in a test report are seen"
		case pipes.MatchString(script) && !strings.Contains(script, "pipefail"):
			why = "its exit code is that of the last command of a pipe: write bash -o pipefail -c in place of the shell's -c, " +
				"or leave the pipe out"
		default:
			continue
		}
		notices = append(notices, fmt.Sprintf("gate %s: %s", g.Name, why))
	}
	return notices
}

// scriptIn returns the script of a shell after -c, with its options before it; "" for another command.
func scriptIn(command []string) string {
	at := slices.IndexFunc(command, func(arg string) bool { return shells.MatchString(path.Base(arg)) })
	if at < 0 {
		return ""
	}
	for i, arg := range command[at+1:] {
		if strings.HasPrefix(arg, "-") && strings.Contains(arg, "c") && !strings.HasPrefix(arg, "--") {
			return strings.Join(command[at+1:][:min(i+2, len(command)-at-1)], " ")
		}
	}
	return ""
}
