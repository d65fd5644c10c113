package subagents

import (
	"fmt"
	"slices"
	"strings"
)

// stillMatches tells of the places where files of a shard match its rule after the task.
func stillMatches(left []string) string {
	places := "1 place"
	if len(left) > 1 {
		places = fmt.Sprintf("%d places", len(left))
	}
	return fmt.Sprintf("shard.match still matches in %s of the task's files, the first is %s", places, left[0])
}

// placeSignatures are the files of the places, so that the same failure can be known again when lines move.
func placeSignatures(left []string) []string {
	var out []string
	for _, place := range left {
		out = append(out, "remaining: "+place[:max(0, strings.LastIndexByte(place, ':'))])
	}
	return slices.Compact(out)
}
