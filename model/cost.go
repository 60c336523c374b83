package model

// Rates are the prices of prompt tokens relative to the plain input price.
type Rates struct {
	Write float64 `json:"write"` // 1.25 where cache writes cost extra
	Read  float64 `json:"read"`  // 0.1 and less
}

// DefaultRates hold where the model's prices are not known.
var DefaultRates = Rates{Write: 1.25, Read: 0.1}
