package team

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/orchestrator/console/display"
	"divisi/orchestrator/hub"
)

// newAudit makes divisi server audit.
func newAudit(g *Globals) *cobra.Command {
	var since string
	c := &cobra.Command{
		Use:   "audit",
		Short: "Show who joined, submitted, decided, published or was revoked on the server of this machine",
		Long: `Show what was done on the server of this state directory (divisi server start), and by whom: the names are those
that the server's permissions prove. The file, serve/audit.jsonl, has one line of JSON for each.`,
		Example: "  divisi server audit --since 24h\n  divisi server audit --since 30d --output json",
		RunE:    func(*cobra.Command, []string) error { return g.showAudit(since) },
	}
	c.Flags().StringVar(&since, "since", "7d", "age of the oldest entry, such as 24h or 30d")
	return c
}

func (g *Globals) showAudit(since string) error {
	age, err := cli.ParseAge("--since", since)
	if err != nil {
		return err
	}
	entries, err := hub.AuditLog(g.StateDir, time.Now().Add(-age))
	if err != nil {
		return err
	}
	for line, err := range entries {
		var e auditEntry
		if err == nil {
			err = json.Unmarshal(line, &e)
		}
		if err != nil {
			g.Notice(err.Error())
			continue
		}
		if err := g.Print(cli.Say("%s\n", e.line()), line); err != nil {
			return err
		}
	}
	return nil
}

// auditEntry is a line of the audit log as it is shown.
type auditEntry struct {
	Time    time.Time `json:"time"`
	By      string    `json:"by"`
	What    string    `json:"what"`
	Name    string    `json:"name"`
	Run     string    `json:"run"`
	Task    string    `json:"task"`
	Verb    string    `json:"verb"`
	Detail  string    `json:"detail"`
	Refused string    `json:"refused"`
}

// line is one line for a person.
func (e *auditEntry) line() string {
	words := []string{e.Time.Local().Format("2006-01-02 15:04:05"), e.By, e.What}
	about := e.Run
	if e.Task != "" {
		about += "/" + e.Task
	}
	for _, word := range []string{e.Verb, e.Name, about, e.Detail} {
		if word != "" {
			words = append(words, word)
		}
	}
	if e.Refused != "" {
		words = append(words, fmt.Sprintf("(refused: %s)", e.Refused))
	}
	return display.Sanitize(strings.Join(words, " "))
}
