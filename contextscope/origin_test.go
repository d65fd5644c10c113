package contextscope

import (
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func TestOriginsOfEveryPart(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "gen/1"}).turn(say("old")).steer("tabs").turn(call("a", "read"), call("b", "read")).
		tool(big("a")).user("bad\xff").turn(call("c", "grep")).tool(result("c", "grep", "1")).
		compaction(Compaction{Method: CompactionPrune, To: 1, Masked: []int{4}}).turn(say("seen"))
	view := NewCompiler().View(Input{
		Agent: "gen/1", Role: spec.Role{Context: spec.ContextRules{DropTools: []string{"grep"}}}, Events: l.events,
		Brief: Brief{Task: spec.Task{ID: "gen"}},
		Slice: BuildSlice(SliceInput{
			Include: spec.IncludeFull, DecisionRecord: "r", Dispatcher: (&log{agent: "plan/1"}).user("up").events,
		}),
	})
	view.Compile(Tail{Reminders: []string{"quick"}})
	require.Equal(t, [][]Origin{
		{
			{"background", ""},
			{"background", ""},
			{"background", ""},
			{"background", "e1"},
			{"brief", ""},
			{"compaction", ""},
			{"history", "e2"},
		},
		{{"history", "e3"}, {"history", "e3"}},
		{{"compaction", "e4"}, {"history", ""}, {"history", "e5"}},
		{{"history", "e6"}},
		{{"drop_tools", "e7"}},
		{{"history", "e9"}},
		{{"reminders", ""}, {"reminders", ""}},
	}, view.Origins())

	view.in.Window = 1
	view.Compile(Tail{})
	require.Equal(t, [][]Origin{
		{
			{"background", ""},
			{"background", ""},
			{"background", ""},
			{"background", "e1"},
			{"brief", ""},
			{"compaction", ""},
			{"history", "e2"},
			{"fit", ""},
		},
		{{"history", "e9"}},
	}, view.Origins())
}
