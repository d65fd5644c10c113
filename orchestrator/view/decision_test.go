package view

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
)

// Hosts of other versions, and programs that read `divisi decide --output json`, know these names.
func TestDecisionsAreToldUnderTheNamesOfTheirFields(t *testing.T) {
	t.Parallel()
	const told = `[{"Run":"r","ID":"a@9","Kind":"patch","About":"a","Attempt":2,"Text":"t","Evidence":["e"],"Choices":null,` +
		`"Patches":[{"Task":"a","Files":["f"],"Diff":"+ \"NeedsText\":","Fault":""}],"Plan":{"tasks":[]},` +
		`"Options":[{"Name":"reject","Does":"d","NeedsText":true}],"Suggests":"accept","Decider":"person","Why":"w",` +
		`"Reserved":true,"Blocks":3,"Alike":"s"},` +
		`{"Run":"","ID":"b@1","Kind":"","About":"","Attempt":0,"Text":"","Evidence":null,"Choices":null,"Patches":null,` +
		`"Options":null,"Suggests":"","Decider":"","Why":"","Blocks":0,"Alike":""}]`
	all := Named{{
		Run: "r", ID: "a@9", Kind: run.DecidePatch, About: "a", Attempt: 2, Text: "t", Evidence: []string{"e"}, Suggests: "accept",
		Patches: []Patch{{Task: "a", Files: []string{"f"}, Diff: `+ "NeedsText":`}}, Plan: json.RawMessage(`{"tasks":[]}`),
		Options: []Option{{Name: "reject", Does: "d", NeedsText: true}}, Decider: "person", Why: "w", Reserved: true, Blocks: 3,
		Alike: "s", Tasks: []string{"a"},
	}, {ID: "b@1"}}
	data, err := json.Marshal(all)
	require.NoError(t, err)
	require.JSONEq(t, told, string(data))
	var read Named
	require.NoError(t, json.Unmarshal([]byte(told), &read))
	require.Equal(t, all, read)
}

func TestAReportDoesNotCountWhatWaits(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(Reported{Decision: Decision{ID: "a@9", Kind: run.DecidePatch, Text: "t", Decider: "person", Why: "w"}})
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"a@9","kind":"patch","text":"t","decider":"person","why":"w"}`, string(data))
}
