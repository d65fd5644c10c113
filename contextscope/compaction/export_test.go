package compaction

import "divisi/contextscope"

// WorkEvents and GoodSnapshot are the session and the snapshot of this package's tests, for those that compile requests.
func WorkEvents() []contextscope.Event { return work().events }

// GoodSnapshot is a snapshot that stands for WorkEvents.
func GoodSnapshot() Snapshot { return good() }
