package redact

import (
	"encoding/json"
	"strings"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// shapes have what is shown of the data of each kind of event; of a kind that is missing nothing is.
var shapes = map[contextscope.Kind]shape{
	contextscope.KindStarted: object("delivery time notes", nil),
	contextscope.KindTurn:    object("model response_id finish unsigned", nil),
	contextscope.KindTool: object("failed clean steps remaining", fields{
		"tree": patch, "kept": each(saved), "end": object("final handed_over", fields{"handoff": said, "plan": kept}),
	}),
	contextscope.KindCompaction: object("method trigger from to turns overlap masked before after repaired model", fields{
		"fault": fault,
	}),
	contextscope.KindSteering: object("id from", nil),
	contextscope.KindCalls:    object("turn began", fields{"changes": each(object("call id tool state ms", nil))}),
	contextscope.KindRequest: object("id kind role title brief files include_contents background artifacts paths reason "+
		"question options task text accept constraints", nil),
	contextscope.KindControl: object("reason class strike confidence second", fields{"detail": hidden}),
	contextscope.KindError:   fault,
	contextscope.KindUsage: object("calls prompt cached output thoughts tool_use written written_hour model price pico_usd "+
		"booked_pico_usd tier took_ns bytes estimated call", fields{
		"reserved": object("calls prompt cached output thoughts tool_use", nil),
	}),
	contextscope.KindProgress: with(object("wait", fields{"doing": hidden}), func(_ *Redactor, had, out map[string]any) {
		if had["wait"] != nil { // then Divisi words it
			out["doing"] = had["doing"]
		}
	}),
	contextscope.KindReceipt: (*Redactor).receipt,
	contextscope.KindResult: spoken(object("task attempt delivery status usage handed_over limit_hit environment derived copies "+
		"plan final took_ns queued_ns slot_ns git_ns shared",
		fields{"patch": patch, "error": fault, "receipts": each((*Redactor).receipt)})),
	contextscope.KindAnswer: spoken(object("request refused task status commit usage begun granted unlocked text from", fields{
		"fault": fault,
	})),
	contextscope.KindRun:  runs,
	contextscope.KindPlan: plans,
	contextscope.KindTask: tasks,
	contextscope.KindLanding: object("batch state old head tree set mends through parts search limit dispatch own", fields{
		"tasks":      each(object("task attempt commit added deleted files", fields{"unverified": begun, "better": begun})),
		"unverified": begun, "better": begun, "gone": each(masked), "receipts": each((*Redactor).receipt),
	}),
	contextscope.KindPull: object("head base below tasks tree commit from doing number url head_sha theirs state merge_sha",
		fields{
			"mark": object("id did task", nil),
		}),
	contextscope.KindUnreadable: object("kind lost", nil),
}

var (
	patch = object("commit base tree pack files added deleted", nil)
	// saved is an artifact. The handle of one that the agent gave a name is made of that; others name what a tool printed.
	saved = with(object("bytes name", nil), func(_ *Redactor, had, out map[string]any) {
		if handle, _ := had["handle"].(string); strings.HasPrefix(handle, "artifact/") {
			out["handle"], out["what"] = had["handle"], had["what"]
		}
	})
	// said is the handoff of a model: its own words.
	said = object("summary findings deviations constraints artifacts", nil)
	// printed is that of a program: what it printed.
	printed = object("", fields{"summary": hidden, "findings": each(hidden), "deviations": each(hidden)})

	fault = with(object("class", fields{"message": hidden, "detail": hidden, "signatures": signaturesOfFault}),
		func(_ *Redactor, had, out map[string]any) {
			if class, _ := had["class"].(string); harmless[class] {
				out["message"] = had["message"]
			}
		})
	signaturesOfFault = each(masked)

	receipts = object("gate command exit_code worker agent tree environment since duration_ns kind build tests passed verdict "+
		"timed_out killed version unread_rest", fields{
		"beyond":     hidden,
		"programs":   each(object("path", nil)),
		"unread":     each(object("path grade source", fields{"reason": hidden, "command": each(hidden)})),
		"signatures": signatures, "counts": keyed(signature), "moved": signatures,
		"appeared": signatures,
		"tail":     hidden, "names": each(masked), "missing": masked, "hidden": each(text(unrun)),
	})

	runs = with(object("state allow_unverified allow_unread on_doubt first_red epoch setup budget budget_day said file roles "+
		"project head ref dispatch void line keys crew at quarantine reproved unserved made outage own", fields{
		"spec": order, "reason": begun, "baseline": each((*Redactor).receipt),
		"other": object("environment", fields{"baseline": each((*Redactor).receipt), "lacks": each(masked)}),
		"known": each((*Redactor).receipt), "final": each((*Redactor).receipt), "flaky": each(signatures), "names": each(masked),
		"unverified": begun,
		"gate":       object("name command affected full format timeout by", fields{"dropped": begun}),
		"missing":    each(begun), "decision": decided, "wait": begun, "exhausted": begun, "notices": each(hidden),
		"unlike": each(each(unlike)), "day": object("date budget said", nil),
	}), func(_ *Redactor, had, out map[string]any) {
		if !tells(had) && had["notices"] != nil {
			out["notices"] = had["notices"]
		}
	})

	// order has the mark by which the fold knows a log that was concealed.
	order = with(object("run program keys goal repo base branch submodules environment derived copies missing programs "+
		"plan project roles parallel budget auto_approve allow_unverified allow_unread fresh_baseline reprove on_doubt review "+
		"detected proposed trial habits created ci",
		nil), func(_ *Redactor, _, out map[string]any) { out["concealed"] = true })

	plans = with(object("by request follows drop replaces edited decision_record tasks notes overlaps ceiling likely grant "+
		"forgotten joins", nil), func(_ *Redactor, had, out map[string]any) {
		if quotes, _ := had["forgotten"].(bool); quotes {
			out["tasks"] = each(quoting)(nil, had["tasks"])
		}
	})
	// quoting is a task whose brief quotes what a gate printed.
	quoting = object("id title role constraints files gates verify attempts limits change_set command", fields{"brief": hidden})

	tasks = with(object("state dispatch choice role head kept again revision own", fields{
		"fault": fault,
		"doubt": object("attempt review size unprovable", fields{
			"evidence": each(begun), "missing": each(masked), "unread": each(object("", fields{"path": masked})),
			"unlike": each(unlike),
		}),
		"red": object("of run tree since again in", fields{"failed": each(masked)}), "decision": decided, "given": patch,
	}), func(_ *Redactor, had, out map[string]any) {
		if reason, ok := had["reason"].(string); ok {
			fault, _ := had["fault"].(map[string]any)
			out["reason"] = because(reason, fault)
		}
	})

	unlike = object("file line", fields{"was": hidden, "is": hidden, "usual_was": hidden, "usual_is": hidden})

	decided = object("kind about plan answer closed with back", fields{
		"hold": object("template shards example", fields{"shape": masked, "message": hidden}),
	})
)

// unrun lists the tests that should have run and did not.
func unrun(v *Redactor, had string) string {
	if had == spec.HiddenAll {
		return had
	}
	return v.mask(had)
}

// spoken adds a handoff. One of an attempt without the call of a model is what a program printed.
func spoken(s shape) shape {
	return with(s, func(v *Redactor, had, out map[string]any) {
		usage, _ := had["usage"].(map[string]any)
		calls, _ := usage["calls"].(json.Number)
		words := printed
		if n, err := calls.Int64(); err == nil && n > 0 {
			words = said
		}
		if handoff := words(v, had["handoff"]); handoff != nil {
			out["handoff"] = handoff
		}
	})
}
