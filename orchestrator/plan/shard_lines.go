package plan

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/text"
)

// maxPrinted bounds the shards that a command may print.
const maxPrinted = 10_000

// printedShards reads what the command of a shard rule printed: a shard a line. A line is one path as it is, paths with tabs
// between, or paths with spaces between. Each path is one of all, or of the links, which are left out; both are sorted, and
// each path is named once. Otherwise it returns a problem for the plan's author.
func printedShards(lines, all, links []string) (groups [][]string, left []string, problem string) {
	seen := map[string]bool{}
	for _, line := range lines {
		var group []string
		for _, f := range pathsOf(strings.TrimSuffix(line, "\r"), all, links) {
			link := isOneOf(links, f)
			switch {
			case !link && !isOneOf(all, f):
				return nil, nil, fmt.Sprintf("printed %q, which is not a file of the base commit", text.Clip(f, text.MaxLine))
			case seen[f]:
				return nil, nil, fmt.Sprintf("printed %q twice", text.Clip(f, text.MaxLine))
			case link:
				left = append(left, f)
			default:
				group = append(group, f)
			}
			seen[f] = true
		}
		if len(group) > 0 {
			groups = append(groups, group)
		}
		if len(groups) > maxPrinted {
			return nil, nil, fmt.Sprintf("printed more than %d shards", maxPrinted)
		}
	}
	switch {
	case len(groups) > 0:
		return groups, left, ""
	case len(left) > 0:
		return nil, nil, "printed symbolic links alone, such as " + text.Clip(left[0], text.MaxLine)
	}
	return nil, nil, "printed no files"
}

func pathsOf(line string, all, links []string) []string {
	switch {
	case isOneOf(all, line), isOneOf(links, line): // a name with spaces in it too
		return []string{line}
	case strings.Contains(line, "\t"):
		return slices.DeleteFunc(strings.Split(line, "\t"), func(f string) bool { return f == "" })
	default:
		return strings.Fields(line)
	}
}

func isOneOf(sorted []string, s string) bool {
	_, ok := slices.BinarySearch(sorted, s)
	return ok
}
