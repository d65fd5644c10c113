// Package bus connects to NATS, and is the only package that does: an embedded server or a connection to an external one, the
// append-only log, the work queue, objects and short control messages. Its input and output are subjects, headers and bytes. It
// knows neither the meaning of a message nor agents.
//
// What may be lost and what may not: an append that was acknowledged is in the log for good (fsync before the
// acknowledgement, unless Options.Sync says otherwise), and so is an object. A queued task may be lost with the machine
// and may be delivered more than once: the owner of the log puts it back (Purge, then Enqueue), and the fence of Append
// lets only one of two owners continue. Control messages (Publish, Request) reach the processes that listen at that moment.
package bus
