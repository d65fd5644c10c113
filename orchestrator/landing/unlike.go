package landing

import (
	"fmt"
	"slices"
	"strconv"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// Due lists the tasks whose patches land next where nothing speaks against them: those of a batch whose gates have ended well,
// else those that the next batch is made of.
func Due(s *run.State) (due []*run.Task, batch *run.Batch) {
	in := factsOf(s)
	for _, b := range s.Batches.Testing {
		if r := s.Works.Tested(b); r != nil && r.Status == spec.StatusDone && b.Old == s.Head {
			for _, id := range run.Names(b.Tasks) {
				due = append(due, in.tasks.ByID[id])
			}
			return due, b
		}
	}
	if barred(in, s.Baselined()) != "" {
		return nil, nil
	}
	due = next(in)
	if len(due) == 1 {
		if set := in.tasks.Set(due[0]); set != nil {
			return slices.Clone(set.Members), nil
		}
	}
	return due, nil
}

// Ask puts the tasks of a batch back into the queue, and holds those that are asked about.
func Ask(s *run.State, b *run.Batch, doubts map[string]run.Doubt) []run.Action {
	return question(factsOf(s), landingOf(b), doubts)
}

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
