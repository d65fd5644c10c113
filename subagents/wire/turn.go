package wire

import (
	"time"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// Turn is the data of a turn event.
type Turn struct {
	Model      string `json:"model,omitempty"`
	ResponseID string `json:"response_id,omitempty"`
	Finish     string `json:"finish,omitempty"`
	// Recall is the memory that the request held. It is kept because the memory changes, and the request is to be explained.
	Recall []contextscope.Recalled `json:"recall,omitempty"`
	// Unsigned reports that the service refused the request's thought signatures, and answered it without them.
	Unsigned bool `json:"unsigned,omitempty"`
}

// Unanswered is the data of an error event: why a call has no answer that counts, and the memory that its request held.
type Unanswered struct {
	spec.Fault

	Recall []contextscope.Recalled `json:"recall,omitempty"`
}

// Spent is the data of a usage event: what a call cost, and with which model where that was not the agent's own.
type Spent struct {
	spec.Usage

	Model string `json:"model,omitempty"`
	// Price is the id of the price that holds, as model.RowOf makes it; empty where none is known.
	Price string `json:"price,omitempty"`
	// Cost is the cost of its calls as a program states it; 0 where it states nothing. It is counted in place of the price.
	Cost spec.Money `json:"pico_usd,omitempty" maximum:"1000000000000000000"`
	// Booked is the money that the budget of the run, where it is in money, has booked for it.
	Booked spec.Money `json:"booked_pico_usd,omitempty" maximum:"1000000000000000000"`
	// Tier is the service tier of the call, where one was asked for.
	Tier string `json:"tier,omitempty"`
	// Took is how long the answer of a turn took, with its retries and without what the service asked all agents to wait.
	Took time.Duration `json:"took_ns,omitempty"`
	// Bytes is the size of the request; estimates of later ones are calibrated by it.
	Bytes int `json:"bytes,omitempty"`
	// Estimated reports that the answer broke off before the service had said its use: the tokens are those that were reserved.
	Estimated bool `json:"estimated,omitempty"`
	// Call names a call whose beginning is noted too. Its first event, before the call is sent, has no use and what it has
	// Reserved; its last one has its use. A call without a last one was cut off.
	Call     string      `json:"call,omitempty"`
	Reserved *spec.Usage `json:"reserved,omitempty"`
}

// Tooled is the data of a tool event.
type Tooled struct {
	// Failed counts the calls that ended in an error.
	Failed int `json:"failed,omitempty"`
	// Tree is the work tree after the turn's writing calls, as a commit on the attempt's head: what a later delivery continues
	// from. Nil when it was not saved, or, with Clean, when nothing differs from the head.
	Tree  *spec.Patch `json:"tree,omitempty"`
	Clean bool        `json:"clean,omitempty"`
	// Kept are the artifacts that the turn's tools made, and Loads what was asked for with load_artifact: shown in the next
	// request and in no other.
	Kept  []contextscope.Listed `json:"kept,omitempty"`
	Loads []Load                `json:"loads,omitempty"`
	// Steps are the agent's own plan, where a call changed it.
	Steps []spec.Step `json:"steps,omitempty"`
	// Remaining reports that a submission was refused because files of the shard still match its rule, which happens once.
	Remaining bool `json:"remaining,omitempty"`
	// End is set by the turn that ended the attempt.
	End *End `json:"end,omitempty"`
}

// End is the end of the agent.
type End struct {
	Handoff spec.Handoff `json:"handoff,omitzero"`
	Plan    *spec.Plan   `json:"plan,omitempty"`
	Final   bool         `json:"final,omitempty"`
	// HandedOver reports that the task goes to another role.
	HandedOver bool `json:"handed_over,omitempty"`
}

// Load is a part of an artifact that an agent asked for.
type Load struct {
	Handle string `json:"handle"`
	What   string `json:"what,omitempty"`
	// Object is the object-store name of the text.
	Object string `json:"object"`
}
