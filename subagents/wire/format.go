package wire

import (
	"cmp"
	"encoding/json"
	"fmt"

	"divisi/bus"
	"divisi/contextscope"
)

// FormatError reports that the log of a run has another format than the one that this program reads and writes.
type FormatError struct {
	Run    string
	Format int
	// Program is the version of Divisi that wrote the log; empty where the log does not tell.
	Program string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("the log of run %s has format %d, and this program reads format %d alone: "+
		"Divisi %s wrote it, and can read it",
		e.Run, e.Format, contextscope.EventVersion, cmp.Or(e.Program, "of a version that its log does not name"))
}

// CheckFormat returns a *FormatError where the first message of a run's log is of another format. One that tells none is left to
// DecodeEvents.
func CheckFormat(run string, m bus.Message) error {
	var first []struct {
		V    int `json:"v"`
		Data struct {
			Spec struct {
				Program string `json:"program"`
			} `json:"spec"`
		} `json:"data"`
	}
	data, err := loosen(m.Subject, m.Data)
	if err == nil {
		err = json.Unmarshal(data, &first)
	}
	// Of JSON with other types in it the version is read all the same.
	if len(first) == 0 || first[0].V == contextscope.EventVersion || err != nil && first[0].V == 0 {
		return nil
	}
	return &FormatError{run, first[0].V, first[0].Data.Spec.Program}
}
