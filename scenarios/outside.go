package scenarios

import (
	"time"

	"notwice/fakeprovider"
)

// outside is the provider of a story: the fake of this process in virtual time, or one at an address in real time.
type outside interface {
	URL() string
	effects(now time.Time) ([]fakeprovider.Effect, error)
	requests() (fakeprovider.Requests, error)
	arm(...fakeprovider.Fault) error
	clear() error
	unstruck() ([]fakeprovider.Fault, error)
}

type inProcess struct{ *fakeprovider.Server }

func (p inProcess) effects(now time.Time) ([]fakeprovider.Effect, error) {
	return p.Core().Effects(now)
}
func (p inProcess) requests() (fakeprovider.Requests, error) { return p.Core().Requests(), nil }
func (p inProcess) arm(faults ...fakeprovider.Fault) error   { return p.Arm(faults...) }
func (p inProcess) unstruck() ([]fakeprovider.Fault, error)  { return p.Unstruck(), nil }

func (p inProcess) clear() error {
	p.ClearFaults()
	return nil
}

type elsewhere struct{ *fakeprovider.Remote }

func (p elsewhere) effects(time.Time) ([]fakeprovider.Effect, error) { return p.Effects() }
func (p elsewhere) requests() (fakeprovider.Requests, error)         { return p.Requests() }
func (p elsewhere) arm(faults ...fakeprovider.Fault) error           { return p.Arm(faults...) }
func (p elsewhere) clear() error                                     { return p.ClearFaults() }
func (p elsewhere) unstruck() ([]fakeprovider.Fault, error)          { return p.Unstruck() }
