package landing

import (
	"fmt"
	"strconv"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// maxUnlike bounds the edits of a patch that are asked about, each a line.
const maxUnlike = 5

// Unlike is the doubt about a patch with such edits.
func Unlike(edits []run.Unlike) run.Doubt {
	var evidence []string
	for _, u := range edits {
		evidence = append(evidence, UnlikeIn(u))
	}
	return run.Doubt{Evidence: text.Few(evidence, maxUnlike), Unlike: edits[:min(len(edits), maxUnlike)]}
}

// UnlikeIn is an edit that no other shard makes in a line, with a usual one.
func UnlikeIn(u run.Unlike) string {
	line := fmt.Sprintf("%s:%d: %s", text.OneLine(u.File), u.Line, became(u.Was, u.Is))
	if u.UsualWas+u.UsualIs != "" {
		line += "; others: " + became(u.UsualWas, u.UsualIs)
	}
	return line
}

func became(was, is string) string {
	switch {
	case is == "":
		return code(was) + " is gone"
	case was == "":
		return code(is) + " is new"
	}
	return code(was) + " became " + code(is)
}

// maxCode bounds a quoted line, in characters.
const maxCode = 120

// code is a quoted line.
func code(line string) string {
	line = text.Short(text.OneLine(line), maxCode)
	if strconv.CanBackquote(line) {
		return "`" + line + "`"
	}
	return strconv.Quote(line)
}
