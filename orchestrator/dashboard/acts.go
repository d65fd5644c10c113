package dashboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"unicode/utf8"
)

const (
	// maxBody bounds what a browser sends, in bytes.
	maxBody = 64 << 10
	// maxTasks bounds the tasks that one act names.
	maxTasks = 10_000
)

// verbs are what can be asked of a run as a whole, and how many tasks each takes at most.
var verbs = map[string]int{
	VerbCancel: 1, VerbPause: 0, VerbResume: 0, VerbSkip: maxTasks, VerbRetry: maxTasks, VerbSend: 1, VerbDrop: maxTasks,
	VerbStopLine: 0, VerbStartLine: 0, VerbPublish: 0,
}

// needsTask are the verbs that are about tasks alone, and needsText those that say nothing without words.
var (
	needsTask = []string{VerbSkip, VerbDrop}
	needsText = []string{VerbSend}
)

// act does something to a run, or to tasks of it.
func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	var a Act
	if !s.body(w, r, &a) {
		return
	}
	most, known := verbs[a.Verb]
	switch {
	case !known:
		s.refuse(w, http.StatusBadRequest, fmt.Sprintf("unknown verb %.80q", a.Verb))
		return
	case len(a.Tasks) > most:
		s.refuse(w, http.StatusBadRequest, fmt.Sprintf("%s takes at most %d tasks", a.Verb, most))
		return
	case len(a.Tasks) == 0 && slices.Contains(needsTask, a.Verb):
		s.refuse(w, http.StatusBadRequest, a.Verb+" needs a task")
		return
	case a.Text == "" && slices.Contains(needsText, a.Verb):
		s.refuse(w, http.StatusBadRequest, a.Verb+" needs a text")
		return
	}
	s.do(w, r, a)
}

// decide answers a decision as the browser showed it.
func (s *Server) decide(w http.ResponseWriter, r *http.Request) {
	var a Act
	if !s.body(w, r, &a) {
		return
	}
	if a.Option == "" {
		s.refuse(w, http.StatusBadRequest, "an answer names an option")
		return
	}
	a.Verb, a.Decision = VerbDecide, r.PathValue("id")
	s.do(w, r, a)
}

// takeBack takes the answer to a decision back.
func (s *Server) takeBack(w http.ResponseWriter, r *http.Request) {
	var a Act
	if !s.body(w, r, &a) {
		return
	}
	a.Verb, a.Decision = VerbTakeBack, r.PathValue("id")
	s.do(w, r, a)
}

func (s *Server) do(w http.ResponseWriter, r *http.Request, a Act) {
	a.Run, a.By = r.PathValue("run"), by(r.Context()).Name
	if _, known := s.overview.has(a.Run); !known {
		s.fail(w, errNoRun)
		return
	}
	out, err := s.opts.Controller.Act(r.Context(), a)
	s.soon()
	if err != nil {
		s.fail(w, err)
		return
	}
	s.sendJSON(w, out)
}

// body reads what a browser sends; where it cannot be read it answers, and reports false.
func (s *Server) body(w http.ResponseWriter, r *http.Request, a *Act) bool {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		s.refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("a request has at most %d bytes", maxBody))
		return false
	case err != nil:
		s.refuse(w, http.StatusBadRequest, "the request did not arrive whole")
		return false
	case !utf8.Valid(data):
		s.refuse(w, http.StatusBadRequest, "a request is UTF-8")
		return false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(a); err != nil || d.More() {
		s.refuse(w, http.StatusBadRequest, "the request is not the JSON that this address takes")
		return false
	}
	return true
}
