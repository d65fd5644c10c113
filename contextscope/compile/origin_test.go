package compile

import (
	"testing"

	"divisi/contextscope"
	"divisi/contextscope/slice"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
)

func TestOriginsOfEveryPart(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Say("old")).Steer("tabs").Turn(sessiontest.Call("a", "read"), sessiontest.Call("b", "read")).
		Tool(big("a")).User("go on").Turn(sessiontest.Call("c", "grep")).Tool(sessiontest.Result("c", "grep", "1")).
		Data(contextscope.KindCompaction, contextscope.Compaction{Method: contextscope.MethodPrune, To: 1, Masked: []int{4}}).Turn(sessiontest.Say("seen"))
	view := open(Input{
		Agent: "gen/1", Role: spec.Role{Context: spec.ContextRules{DropTools: []string{"grep"}}}, Events: l.Events,
		Brief: Brief{Task: spec.Task{ID: "gen"}},
		Slice: slice.Build(slice.Input{
			Include: spec.IncludeFull, DecisionRecord: "r", Dispatcher: (&sessiontest.Log{Agent: "plan/1"}).User("up").Events,
		}),
	})
	view.in.Tail = Tail{Reminders: []string{"quick"}}
	_, origins := view.Explain(view.in)
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
	}, origins)

	view.in.Window, view.in.Tail = 1, Tail{}
	_, origins = view.Explain(view.in)
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
	}, origins)
}
