//! The input of each transaction, drawn once whatever the mode.
//!
//! In: a profile, a user's home and random numbers. Out: inputs. Must never: depend on how the
//! transaction is carried out; a new try gets the same input again.

use super::profile::Profile;
use super::random::{NuRand, RunConstants};
use super::schema::{CUSTOMERS, DISTRICTS, ITEMS};
use crate::random::Random;

/// The kinds of transaction; a sample's kind is the place here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A new order.
    NewOrder,
    /// A payment.
    Payment,
    /// A customer's last order.
    OrderStatus,
    /// The oldest order of each district is delivered.
    Delivery,
    /// Items of a district that run low.
    StockLevel,
}

impl Kind {
    /// All, by their number.
    pub const ALL: [Kind; 5] = [
        Kind::NewOrder,
        Kind::Payment,
        Kind::OrderStatus,
        Kind::Delivery,
        Kind::StockLevel,
    ];

    /// Their names, in the same order.
    pub const NAMES: [&'static str; 5] = [
        "new-order",
        "payment",
        "order-status",
        "delivery",
        "stock-level",
    ];
}

/// Lines of an order, at most [2.4.1.3].
pub const LINES_MAX: usize = 15;

/// An item that is not there: what makes an order roll back.
pub const UNUSED_ITEM: u32 = ITEMS + 1;

/// One line of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Item.
    pub item: u32,
    /// Warehouse that supplies it.
    pub supply: u32,
    /// How many, 1 to 10.
    pub quantity: u32,
    /// 1, and one more for each earlier line of the order with the same item and supply: the lines
    /// of one wave touch different rows of stock, so that one statement can change them.
    pub wave: u32,
}

/// Input of a new order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Home warehouse.
    pub w_id: u32,
    /// District.
    pub d_id: u32,
    /// Customer.
    pub c_id: u32,
    /// The first `count` of them.
    lines: [Line; LINES_MAX],
    count: usize,
    /// The last line's item is [`UNUSED_ITEM`].
    pub unused: bool,
}

impl NewOrder {
    /// By supply and item, an unused one last: all users lock rows of stock in this order, so that
    /// orders do not wait for each other in a circle.
    pub fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }

    /// Lines from another warehouse.
    pub fn remote_lines(&self) -> usize {
        let remote = |line: &&Line| line.supply != self.w_id;
        self.lines().iter().filter(remote).count()
    }

    /// Waves of its lines.
    pub fn waves(&self) -> u32 {
        self.lines().iter().map(|line| line.wave).max().unwrap_or(0)
    }
}

/// Which customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// By number.
    Number(u32),
    /// By last name, as a number of `LastNames`.
    Name {
        /// The name; a profile may not find it.
        name: u32,
        /// Whom to take where nobody has it; else that is an error.
        otherwise: Option<u32>,
    },
}

/// Input of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Where it is made.
    pub w_id: u32,
    /// District.
    pub d_id: u32,
    /// The customer's warehouse.
    pub c_w_id: u32,
    /// The customer's district.
    pub c_d_id: u32,
    /// The customer.
    pub who: Who,
    /// Amount, cents.
    pub cents: i64,
}

/// Input of an order-status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    /// Warehouse.
    pub w_id: u32,
    /// District.
    pub d_id: u32,
    /// The customer.
    pub who: Who,
}

/// Input of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Warehouse.
    pub w_id: u32,
    /// Carrier, 1 to 10.
    pub carrier: u32,
}

/// Input of a stock-level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevel {
    /// Warehouse.
    pub w_id: u32,
    /// District.
    pub d_id: u32,
    /// Fewer than this is low, 10 to 20.
    pub threshold: u32,
}

/// Where a user's transactions take place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// One warehouse.
    One(u32),
    /// Any.
    Any,
    /// Every `step`-th warehouse from `first` (from 0) on; `count` of them, counted past the last.
    Share {
        /// First.
        first: u32,
        /// Distance.
        step: u32,
        /// How many.
        count: u32,
    },
}

/// Draws one user's inputs.
#[derive(Clone, Debug)]
pub struct Draws {
    profile: &'static Profile,
    constants: RunConstants,
    warehouses: u32,
    home: Home,
    /// Of stock-level: a terminal's own for the whole run [2.8.1.1].
    district: u32,
    /// The user's random numbers.
    pub random: Random,
}

impl Draws {
    /// Draws for user `client` of `clients` on so many warehouses; `all`: not only in one of them.
    pub fn new(
        profile: &'static Profile,
        constants: RunConstants,
        warehouses: u32,
        all: bool,
        (client, clients): (u32, u32),
        mut random: Random,
    ) -> Self {
        let clients = clients.max(client + 1);
        let home = match (all, profile.any_warehouse, profile.spread_homes) {
            (true, true, _) => Home::Any,
            (true, false, _) => Home::Share {
                first: client,
                step: clients,
                count: warehouses.div_ceil(clients),
            },
            (false, _, true) => {
                let place = u64::from(client) * u64::from(warehouses) / u64::from(clients);
                Home::One(place as u32 + 1)
            }
            (false, _, false) => Home::One(random.uniform(1, warehouses.into()) as u32),
        };
        let district = match profile.spread_homes {
            true => client % DISTRICTS + 1,
            false => random.uniform(1, DISTRICTS.into()) as u32,
        };
        Draws {
            profile,
            constants,
            warehouses,
            home,
            district,
            random,
        }
    }

    /// Input of a new order [2.4.1].
    pub fn new_order(&mut self) -> NewOrder {
        let w_id = self.warehouse();
        let d_id = self.uniform(1, DISTRICTS);
        let c_id = self.customer();
        let count = self.uniform(5, LINES_MAX as u32) as usize;
        let unused = self.uniform(1, 100) == 1;
        let mut lines = [Line::default(); LINES_MAX];
        for (place, line) in lines[..count].iter_mut().enumerate() {
            let item = match self.profile.non_uniform {
                true => self.draw(self.constants.item),
                false => self.uniform(1, ITEMS),
            };
            let remote = self.uniform(1, 100) == 1;
            *line = Line {
                item: if unused && place + 1 == count {
                    UNUSED_ITEM
                } else {
                    item
                },
                supply: if remote { self.other(w_id) } else { w_id },
                quantity: self.uniform(1, 10),
                wave: 1,
            };
        }
        let known = count - usize::from(unused);
        lines[..known].sort_unstable_by_key(|line| (line.supply, line.item, line.quantity));
        for place in 1..known {
            let (before, line) = (lines[place - 1], &mut lines[place]);
            if (before.supply, before.item) == (line.supply, line.item) {
                line.wave = before.wave + 1;
            }
        }
        NewOrder {
            w_id,
            d_id,
            c_id,
            lines,
            count,
            unused,
        }
    }

    /// Input of a payment [2.5.1].
    pub fn payment(&mut self) -> Payment {
        let w_id = self.warehouse();
        let d_id = self.uniform(1, DISTRICTS);
        let (c_w_id, c_d_id) = match self.uniform(1, 100) {
            ..=85 => (w_id, d_id),
            _ => (self.other(w_id), self.uniform(1, DISTRICTS)),
        };
        let who = self.who();
        let cents = match self.profile.cents {
            true => self.random.uniform(100, 500_000),
            false => self.random.uniform(1, 5_000) * 100,
        };
        Payment {
            w_id,
            d_id,
            c_w_id,
            c_d_id,
            who,
            cents,
        }
    }

    /// Input of an order-status [2.6.1].
    pub fn order_status(&mut self) -> OrderStatus {
        OrderStatus {
            w_id: self.warehouse(),
            d_id: self.uniform(1, DISTRICTS),
            who: self.who(),
        }
    }

    /// Input of a delivery [2.7.1].
    pub fn delivery(&mut self) -> Delivery {
        Delivery {
            w_id: self.warehouse(),
            carrier: self.uniform(1, 10),
        }
    }

    /// Input of a stock-level [2.8.1].
    pub fn stock_level(&mut self) -> StockLevel {
        StockLevel {
            w_id: self.warehouse(),
            d_id: self.district,
            threshold: self.uniform(10, 20),
        }
    }

    fn warehouse(&mut self) -> u32 {
        match self.home {
            Home::One(w_id) => w_id,
            Home::Any => self.uniform(1, self.warehouses),
            Home::Share { first, step, count } => {
                let place = u64::from(self.uniform(0, count - 1)) * u64::from(step);
                ((u64::from(first) + place) % u64::from(self.warehouses)) as u32 + 1
            }
        }
    }

    /// Any warehouse but this one; this one where there is no other.
    fn other(&mut self, w_id: u32) -> u32 {
        if self.warehouses == 1 {
            return w_id;
        }
        let drawn = self.uniform(1, self.warehouses - 1);
        drawn + u32::from(drawn >= w_id)
    }

    fn customer(&mut self) -> u32 {
        match self.profile.non_uniform {
            true => self.draw(self.constants.customer),
            false => self.uniform(1, CUSTOMERS),
        }
    }

    /// 60 % by last name.
    fn who(&mut self) -> Who {
        if self.uniform(1, 100) > 60 {
            return Who::Number(self.customer());
        }
        let last = match self.profile.own_last_names {
            true => self.constants.last,
            false => NuRand::LOAD_LAST,
        };
        Who::Name {
            name: self.draw(last),
            otherwise: (!self.profile.finds_names).then(|| self.customer()),
        }
    }

    fn draw(&mut self, which: NuRand) -> u32 {
        which.draw(|low, high| self.random.uniform(low.into(), high.into()) as u32)
    }

    fn uniform(&mut self, low: u32, high: u32) -> u32 {
        self.random.uniform(low.into(), high.into()) as u32
    }
}
