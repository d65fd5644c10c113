package command

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/command/bill"
)

// Secrets are variables with their values, NAME=value. They are given to a role's command, and kept out of what it reports.
type Secrets []string

// SecretsOf takes the variables that a role names from an environment, and the address that its gateway calls. A variable that
// is not set is left out.
func SecretsOf(role *spec.Role, environ []string) Secrets {
	var found Secrets
	names := role.Secrets
	if address := spec.GatewayVarsOf(role.Gateway).Address; address != "" && !slices.Contains(names, address) {
		names = append(slices.Clone(names), address)
	}
	for _, name := range names {
		for _, v := range slices.Backward(environ) {
			if n, value, _ := strings.Cut(v, "="); n == name && value != "" {
				found = append(found, v)
				break
			}
		}
	}
	return found
}

// missing reports which variables of a role are not set; empty when all are.
func (s Secrets) missing(role *spec.Role) string {
	var names []string
	for _, name := range role.Secrets {
		if !slices.ContainsFunc(s, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("role %s needs %s, which is not set where Divisi runs: set it there, and try again",
		role.Name, strings.Join(names, ", "))
}

// minHidden is the shortest value, in bytes, that is looked for: a shorter one is part of many words.
const minHidden = 6

// hide puts the name of a secret in the place of its value, the longest first: one value may be part of another.
func (s Secrets) hide(words string) string {
	var pairs [][2]string
	for _, v := range s {
		if name, value, _ := strings.Cut(v, "="); len(value) >= minHidden {
			pairs = append(pairs, [2]string{value, "[" + name + "]"})
		}
	}
	slices.SortStableFunc(pairs, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	for _, p := range pairs {
		words = strings.ReplaceAll(words, p[0], p[1])
	}
	return words
}

func (s Secrets) hideBytes(words []byte) []byte {
	if len(s) == 0 {
		return words
	}
	return []byte(s.hide(string(words)))
}

// hideInBill hides the values in the texts of a bill, before anything is cut off.
func (s Secrets) hideInBill(b bill.Bill) bill.Bill {
	b.Answer, b.Fault = s.hide(b.Answer), s.hide(b.Fault)
	for i := range b.Lines {
		b.Lines[i].Model = text.Clip(s.hide(b.Lines[i].Model), maxModel)
	}
	return b
}

// maxModel bounds, in bytes, the name of a model that a coding agent has printed.
const maxModel = 80

// hideIn hides the values in everything that a result says.
func (s Secrets) hideIn(r *spec.Result) {
	if len(s) == 0 {
		return
	}
	r.Handoff.Summary = s.hide(r.Handoff.Summary)
	if r.Error != nil {
		r.Error.Message, r.Error.Detail = s.hide(r.Error.Message), s.hide(r.Error.Detail)
	}
}
