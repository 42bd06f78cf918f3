//go:build !unix

package command

import "notwice/journal/boltjournal"

func suspendGuard(*boltjournal.Store) (stop func()) { return func() {} }
