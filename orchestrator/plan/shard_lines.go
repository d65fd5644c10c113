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
// between, or paths with spaces between. Each path is one of all, which is sorted, and is named once. Otherwise it returns a
// problem for the plan's author.
func printedShards(lines, all []string) (groups [][]string, problem string) {
	seen := map[string]bool{}
	for _, line := range lines {
		group := pathsOf(strings.TrimSuffix(line, "\r"), all)
		for _, f := range group {
			switch {
			case !isOneOf(all, f):
				return nil, fmt.Sprintf("printed %q, which is not a file of the base commit", text.Clip(f, text.MaxLine))
			case seen[f]:
				return nil, fmt.Sprintf("printed %q twice", text.Clip(f, text.MaxLine))
			}
			seen[f] = true
		}
		if len(group) > 0 {
			groups = append(groups, group)
		}
		if len(groups) > maxPrinted {
			return nil, fmt.Sprintf("printed more than %d shards", maxPrinted)
		}
	}
	if len(groups) == 0 {
		return nil, "printed no files"
	}
	return groups, ""
}

func pathsOf(line string, all []string) []string {
	switch {
	case isOneOf(all, line): // a name with spaces in it too
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
