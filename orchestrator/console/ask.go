package console

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"divisi/orchestrator/console/display"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/stats"
)

// Question is a plan, as JSON, that a person is asked about. Refused is what is wrong with the plan as the person edited it
// before: it is shown in place of the plan. Edit has the person edit the plan; its error is shown, and the person is asked again.
type Question struct {
	Plan    json.RawMessage
	Refused error
	Edit    func() error
}

// Approval is the answer: Yes, or Words for the master, or the plan was Edited; none of them is a no.
type Approval struct {
	Yes, Edited bool
	Comment     string
}

// approval is the question for one of the answers to a plan.
func (q *Question) approval() Asked {
	return Asked{enter: "stops the run", Decision: view.Decision{Options: []view.Option{
		{Name: view.Yes, Does: "starts the plan"},
		{Name: view.Change, Does: "sends it back to the master with your sentence", NeedsText: true},
		{Name: answerEdit, Does: "opens it in your editor"},
		{Name: answerStop, Does: "stops the run; a resume asks again"},
	}}}
}

// Answers to a plan on the terminal of its run alone.
const answerEdit, answerStop = "edit", "stop"

// letters are short for answers to a plan. A y means the first option.
var letters = map[string]string{"e": answerEdit, "n": answerStop, "no": answerStop}

// Approve shows a plan and asks, on a line of in, whether it starts, or to edit it, or for words that send it back to the master.
// Meanwhile events are taken in, but not drawn. Without an answer (the end of in) the plan is not approved. With JSON no person
// can be asked, which is an error.
func (c *Console) Approve(ctx context.Context, in io.Reader, q Question) (said Approval, err error) {
	if c.opts.JSON {
		return said, errors.New("the plan needs approval, but the output is JSON: it has to be approved beforehand")
	}
	width, d := c.textWidth(), q.approval()
	var shown strings.Builder
	if q.Refused != nil {
		shown.WriteString(display.Visible(q.Refused.Error()) + "\n\nThe edited plan is invalid. Run the plan from before?\n")
	} else if err := c.writePlan(&shown, q.Plan, width); err != nil {
		return said, err
	}
	d.ways(&planText{b: &shown, width: width})
	return said, c.converse(ctx, in, shown.String(), wrapPrompt(d.prompt(), width), func(words string) (again string) {
		answer, again := d.answer(cmp.Or(letters[strings.ToLower(words)], words))
		switch answer.Option {
		case view.Yes:
			said.Yes = true
		case view.Change:
			said.Comment = answer.Text
		case answerEdit:
			if err := q.Edit(); err != nil {
				return display.Visible(err.Error()) + "\n" + wrapPrompt(d.prompt(), width)
			}
			said.Edited = true
		}
		return wrapPrompt(again, width)
	})
}

// writePlan writes a plan that is asked about, with what the run used so far and is likely to use.
func (c *Console) writePlan(w *strings.Builder, data json.RawMessage, width int) error {
	var plan view.Plan
	if err := json.Unmarshal(data, &plan); err != nil {
		return fmt.Errorf("read a plan: %w", err)
	}
	err := Plan(w, data, width)
	w.WriteString(c.outlook(&plan) + "\nRun this plan?\n")
	return err
}

// outlook is what the run that is followed used so far, and what the rest is likely to use, in a line. A plan, if there is one,
// waits for approval.
func (c *Console) outlook(plan *view.Plan) string {
	width := c.textWidth()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.view.Run == "" {
		return ""
	}
	line := "The run: " + stats.OutlookWith(c.view.State, c.opts.Now(), plan).String() + "."
	return strings.Join(display.Wrap(line, width), "\n") + "\n"
}

// textWidth is the width of a text on the terminal.
func (c *Console) textWidth() int {
	width, _ := c.size()
	return width - 1
}

func (c *Console) prompt(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write([]byte(text))
}

// Yes reads one line and reports whether it is a yes. A terminal gives one line at a time: nothing of a next answer is read.
func Yes(in io.Reader) (bool, error) {
	line, err := Line(in)
	return strings.EqualFold(line, "y") || strings.EqualFold(line, "yes"), err
}

// Line reads one line.
func Line(in io.Reader) (string, error) {
	scan := bufio.NewScanner(in)
	scan.Scan()
	if err := scan.Err(); err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return display.Safe(scan.Text()), nil
}

func (c *Console) pause(shown string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live != nil {
		width, _ := c.size()
		c.write(c.live.wipe(width))
	}
	c.paused = true
	c.write([]byte(shown))
	return c.err
}

func (c *Console) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = false
	c.wakeUp()
}
