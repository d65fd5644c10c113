// Package compact decides when an agent's history is compacted, and starts it. Its input is the size of the next request and
// the session, its output a compaction event or none. It never selects or checks the text: package contextscope/compaction
// does, and this one brings the model and the moment.
//
// One Runner belongs to one agent and is asked before each model call. With the request's size as a share of the model's
// window, the rules start, swap and hard, and the phase of the background attempt (once so many turns have come since the newest
// attempt as compact_after says, idle begins below start too, and ready swaps in):
//
//	             idle          idle, last attempt  idle, last attempt  running       ready
//	                           taken lately        failed lately
//	< start      -             -                   -                   -             -
//	>= start     begin         -                   -                   -             -
//	>= swap      begin         -                   prune               -             swap in
//	>= hard      run now       run now             prune               wait, again   swap in
//	too long     run now       run now             prune               wait, again   swap in
//
//	       begin                   attempt ends well               swap in
//	idle ---------> running ----------------------------> ready ------------> idle (taken lately)
//	                   |                                     |
//	                   | attempt fails: recorded, paid       | another compaction came first
//	                   v                                     v
//	            idle (failed lately)                       idle
//
// "Lately" means that the session has grown by less than 10 % of the window since the record, which is read from the log: an
// agent that is resumed does not pay for the same failure again. Beyond hard, and when the server refused a request as too
// long, nothing is left undone: what no model's snapshot makes fit is pruned by code.
package compact
