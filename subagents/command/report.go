package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/command/bill"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// report collects the output of an attempt's runs.
type report struct {
	said strings.Builder
	// words are the last ones of a coding agent: the end of its output where that is not the JSON of its agent.
	words      string
	deviations []string
	// used is the use that coding agents printed; unmetered is set where one ran and printed none.
	used      []bill.Line
	unmetered bool
}

// pay reports what was used: with the cost that the agent states, else with the price of the model.
func (c *Executor) pay(ctx context.Context, used []bill.Line) error {
	if c.Pay == nil || len(used) == 0 {
		return nil
	}
	spent := make([]wire.Spent, len(used))
	for i, line := range used {
		spent[i] = wire.Spent{Usage: line.Usage, Model: line.Model, Cost: line.Cost}
		if line.Cost == 0 && line.Model != "" {
			spent[i].Price = model.RowOf(&c.Assignment.Project, time.Now(), line.Model)
		}
		if spent[i].Booked = line.Cost; line.Cost == 0 {
			price, _ := model.PriceOf(&c.Assignment.Project, spent[i].Price)
			spent[i].Booked = price.Cost(line.Usage, "")
		}
		c.Calls.Budget.Count(spec.Sum{Tokens: line.Usage.Total(), Money: spent[i].Booked})
	}
	if err := c.Pay(ctx, spent); err != nil {
		return fmt.Errorf("note the use of %s: %w", c.Assignment.Agent(), err)
	}
	return nil
}

// howEnded is how a command failed, with the fault that a coding agent has printed, or its last words; empty where it did not. An
// agent can print a fault and exit with 0.
func howEnded(role *spec.Role, args []string, out *sandbox.Output, printed bill.Bill) string {
	fault := oneLine(printed.Fault)
	if !out.Success() {
		fault = cmp.Or(fault, oneLine(printed.Answer))
	}
	if role.Usage != "" {
		args = []string{role.Program(args)}
	}
	switch {
	case fault == "" && out.Success():
		return ""
	case fault == "":
		return gate.HowEnded(args, out)
	case out.Exceeded() != "" || out.Signal != "":
		return gate.HowEnded(args, out) + ", and reports: " + fault
	}
	return fmt.Sprintf("%s exited with %d, and reports: %s", args[0], out.ExitCode, fault)
}

// maxFault bounds, in bytes, what the message of a failed attempt has of the fault that a coding agent printed, and of the hosts
// that were refused.
const maxFault = 500

func oneLine(fault string) string {
	return text.Clip(strings.Join(strings.Fields(fault), " "), maxFault)
}

// refusals are the hosts that the proxy did not connect a command to, as the end of a fault's message.
func refusals(out *sandbox.Output) string {
	if out == nil || len(out.Refused) == 0 {
		return ""
	}
	var all []string
	for _, refused := range out.Refused {
		all = append(all, refused.Error())
	}
	return "; " + text.Clip(strings.Join(text.Few(all, maxRefused), "; "), maxFault)
}

// maxRefused bounds the refused hosts that the message of a failed attempt names.
const maxRefused = 4

// placeSignatures are the files of the places, so that the same failure can be known again when lines move.
func placeSignatures(left []string) []string {
	var out []string
	for _, place := range left {
		out = append(out, "remaining: "+place[:max(0, strings.LastIndexByte(place, ':'))])
	}
	return slices.Compact(out)
}
