package view

import (
	"cmp"
	"fmt"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// PullRequest is a pull request of the run.
type PullRequest struct {
	Head     string   `json:"head"`
	Base     string   `json:"base"`
	Below    string   `json:"below,omitempty"`
	Number   int      `json:"number,omitempty"`
	URL      string   `json:"url,omitempty"`
	State    string   `json:"state,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Unproven string   `json:"unproven,omitempty"`
	Tasks    []string `json:"tasks"`
}

// pullRequests are those of the run, in the order in which they were begun.
func pullRequests(s *run.State) (list []PullRequest) {
	for _, p := range s.Pulls.List() {
		list = append(list, PullRequest{p.Head, p.Base, p.Below, p.Number, p.URL, p.State, p.Reason, p.Unproven, p.Tasks})
	}
	return list
}

// String is it in a line.
func (p *PullRequest) String() string {
	line := fmt.Sprintf("%s: %s, %s", cmp.Or(p.URL, p.Head), cmp.Or(p.State, "not opened"), text.Count(len(p.Tasks), "task"))
	if p.Below != "" {
		line += ", on " + p.Below
	}
	if p.Unproven != "" {
		line += ", not proven"
	}
	return line + text.Because(p.Reason)
}
