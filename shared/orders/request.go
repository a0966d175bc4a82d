package orders

import (
	"encoding/json"
	"math"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// Request orders some of one item.
type Request struct {
	Customer string `json:"customer"`
	Item     string `json:"item"`
	Quantity int    `json:"quantity"` // 1 to 20
	Address  string `json:"address"`
	Country  string `json:"country"` // two letters
	Mail     string `json:"mail"`
	// MailAt is when the mail is sent at the earliest, which ends all changes.
	MailAt time.Time `json:"mailAt,omitzero"`
}

func parse(data []byte, _ business.Values, _ time.Time) (business.Request, error) {
	var body struct {
		Customer *string  `json:"customer"`
		Item     *string  `json:"item"`
		Quantity *float64 `json:"quantity"`
		Address  *string  `json:"address"`
		Country  *string  `json:"country"`
		Mail     *string  `json:"mail"`
		MailAt   *string  `json:"mailAt"`
	}
	faults, err := problem.DecodeAll(data, &body)
	if err != nil {
		return business.Request{}, err
	}
	r := Request{
		Customer: faults.ID("/customer", body.Customer), Item: faults.ID("/item", body.Item),
		Quantity: quantity(faults, body.Quantity),
		Address:  text(faults, "/address", body.Address, 200), Country: text(faults, "/country", body.Country, 2),
		Mail: text(faults, "/mail", body.Mail, 200),
	}
	if body.MailAt != nil {
		r.MailAt = faults.Time("/mailAt", body.MailAt)
	}
	if err := faults.Err(); err != nil {
		return business.Request{}, err
	}
	canonical, err := json.Marshal(r)
	return business.Request{Canonical: canonical, Account: r.Customer, AccountField: "customer"}, err
}

// parseChange reads the only change that there is: of the quantity.
func parseChange(data []byte, _ business.Values, _ time.Time) (json.RawMessage, error) {
	var body struct {
		Quantity *float64 `json:"quantity"`
	}
	faults, err := problem.DecodeAll(data, &body)
	if err != nil {
		return nil, err
	}
	whole := quantity(faults, body.Quantity)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]int{"quantity": whole})
}

func quantity(faults *problem.Faults, n *float64) int {
	whole := faults.Number("/quantity", n, 1, 20)
	if whole != math.Trunc(whole) {
		faults.Add("/quantity", "must be a whole number")
	}
	return int(whole)
}

func text(faults *problem.Faults, pointer string, t *string, limit int) string {
	if t == nil || *t == "" {
		faults.Add(pointer, "is required")
	}
	return faults.Text(pointer, t, limit)
}
