package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestToolOutputDefaults(t *testing.T) {
	t.Parallel()
	for given, want := range map[ToolOutput]ToolOutput{
		{}:                            {OutputKeep, 40_000},
		{Limit: 5_000}:                {OutputKeep, 5_000},
		{Limit: 1}:                    {OutputKeep, 1_000},
		{Limit: 99_999}:               {OutputKeep, 40_000},
		{Policy: OutputSummarize}:     {OutputSummarize, 2_000},
		{OutputSummarize, 8_000}:      {OutputSummarize, 8_000},
		{Policy: OutputRaw}:           {OutputRaw, 40_000},
		{Policy: OutputRaw, Limit: 5}: {OutputRaw, 40_000},
	} {
		require.Equal(t, want, given.WithDefaults(), "%+v", given)
	}
}

func TestToolOutputProblems(t *testing.T) {
	t.Parallel()
	role := Role{Name: "scout", Executor: ExecutorModel, Instruction: "look", Tools: []string{ToolSearch, ToolRunCommand}}
	role.ToolOutput = map[string]ToolOutput{
		AnyTool: {Policy: OutputSummarize}, ToolSearch: {Policy: OutputRaw}, ToolRunCommand: {Policy: OutputKeep, Limit: 1_000},
	}
	require.Empty(t, role.Validate(Env{}))
	role.ToolOutput = map[string]ToolOutput{
		"serch": {}, ToolReadFile: {Policy: "sumarize"}, ToolSubmitResult: {}, ToolSearch: {Policy: OutputRaw, Limit: 2_000},
		ToolRunCommand: {Limit: 999}, AnyTool: {Limit: 40_001},
	}
	require.Equal(t, `tool_output.read_file.policy: policy "sumarize" is not one of keep, summarize, raw (did you mean "summarize"?)
tool_output.read_file: there is no tool of the role "read_file"; there are search, run_command, *
tool_output.serch: there is no tool of the role "serch"; there are search, run_command, * (did you mean "search"?)
tool_output.submit_result: the output of submit_result is never long
tool_output.*.limit: limit 40001 is not from 1000 to 40000 characters
tool_output.run_command.limit: limit 999 is not from 1000 to 40000 characters
tool_output.search.limit: limit belongs to keep and summarize: raw shows up to 40000 characters`, said(role.Validate(Env{})))
}

// What a role does not name the project says, unless the role names all.
func TestOutputsOfARole(t *testing.T) {
	t.Parallel()
	p := &Project{ToolOutput: map[string]ToolOutput{ToolSearch: {Policy: OutputSummarize}, ToolRunCommand: {Policy: OutputSummarize}}}
	own, loads := map[string]ToolOutput{ToolSearch: {Policy: OutputRaw}}, []string{ToolLoadArtifact}
	require.Equal(t, map[string]ToolOutput{ToolSearch: {Policy: OutputRaw}, ToolRunCommand: {Policy: OutputSummarize}},
		p.Outputs(&Role{ToolOutput: own, Tools: loads}))
	require.Equal(t, p.ToolOutput, p.Outputs(&Role{Tools: loads}))
	require.Empty(t, p.Outputs(&Role{}), "it could not read the whole")
	own = map[string]ToolOutput{AnyTool: {Policy: OutputKeep}}
	require.Equal(t, own, p.Outputs(&Role{ToolOutput: own, Tools: loads}))
	require.Equal(t, own, (&Project{}).Outputs(&Role{ToolOutput: own}), "an assignment of before")
}
