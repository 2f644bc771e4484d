//! Random inputs of the transactions. They are the same in every mode, and a retry reuses its
//! transaction's input.

use super::profile::Profile;
use super::random::{NuRand, RunConstants};
use super::schema::{CUSTOMERS, DISTRICTS, ITEMS};
use crate::names::named_enum;
use crate::random::Random;

named_enum! {
    /// The kinds of transaction; the discriminant is the kind's number in samples.
    pub enum TpccTransaction {
        NewOrder = "new-order",
        Payment = "payment",
        /// A query of a customer's last order.
        OrderStatus = "order-status",
        /// A delivery of the oldest order of each district.
        Delivery = "delivery",
        /// A count of the items of a district that run low.
        StockLevel = "stock-level",
    }
}

/// Maximum number of lines of an order [2.4.1.3].
pub const LINES_MAX: usize = 15;

/// The number of an item that does not exist; an order of it is rolled back.
pub const UNUSED_ITEM: u32 = ITEMS + 1;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderLine {
    pub item: u32,
    /// The supplying warehouse.
    pub supply: u32,
    /// 1 to 10.
    pub quantity: u32,
    /// 1 plus the number of earlier lines of the order with the same item and supplying warehouse. The lines
    /// of one wave touch different rows of stock, so one UPDATE can process them all.
    pub wave: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// Home warehouse.
    pub w_id: u32,
    pub d_id: u32,
    pub c_id: u32,
    /// The lines; only the first `count` are in use.
    lines: [OrderLine; LINES_MAX],
    count: usize,
    /// Whether the last line's item is [`UNUSED_ITEM`].
    pub has_unused_item: bool,
}

impl NewOrder {
    /// The lines, sorted by supplying warehouse and item, an unused item last. All users lock rows of stock
    /// in this order, so that orders do not deadlock.
    pub fn lines(&self) -> &[OrderLine] {
        &self.lines[..self.count]
    }

    /// Number of lines that another warehouse supplies.
    pub fn remote_lines(&self) -> usize {
        let is_remote = |line: &&OrderLine| line.supply != self.w_id;
        self.lines().iter().filter(is_remote).count()
    }

    /// The number of waves; see [`OrderLine::wave`].
    pub fn waves(&self) -> u32 {
        self.lines().iter().map(|line| line.wave).max().unwrap_or(0)
    }
}

/// How a transaction selects its customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CustomerKey {
    Number(u32),
    /// By last name, as a number of `LastNames`.
    Name {
        name: u32,
        /// The customer to use if the search finds nobody; `None` makes that an error.
        fallback: Option<u32>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    /// The warehouse where it is made.
    pub w_id: u32,
    pub d_id: u32,
    /// The customer's warehouse.
    pub c_w_id: u32,
    /// The customer's district.
    pub c_d_id: u32,
    pub customer: CustomerKey,
    /// Amount in cents.
    pub cents: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatus {
    pub w_id: u32,
    pub d_id: u32,
    pub customer: CustomerKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub w_id: u32,
    /// Carrier, 1 to 10.
    pub carrier: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevel {
    pub w_id: u32,
    pub d_id: u32,
    /// Stock below this is low, 10 to 20.
    pub threshold: u32,
}

/// The warehouses in which a user's transactions take place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The warehouse with this number.
    One(u32),
    Any,
    /// `count` warehouses: every `step`-th from `first`, wrapping around after the last.
    EveryNth {
        /// Index of the first warehouse, from 0.
        first: u32,
        /// Difference between two indexes.
        step: u32,
        count: u32,
    },
}

#[derive(Clone, Debug)]
pub struct InputGenerator {
    profile: &'static Profile,
    constants: RunConstants,
    warehouses: u32,
    home: Home,
    /// District of stock-level transactions, fixed for a terminal during the whole run [2.8.1.1].
    district: u32,
    pub random: Random,
}

impl InputGenerator {
    /// A generator for user `client` of `clients` on this many warehouses; with `all_warehouses`, the user is
    /// not bound to one warehouse.
    pub fn new(
        profile: &'static Profile,
        constants: RunConstants,
        warehouses: u32,
        all_warehouses: bool,
        (client, clients): (u32, u32),
        mut random: Random,
    ) -> Self {
        let clients = clients.max(client + 1);
        let home = if all_warehouses && profile.any_warehouse {
            Home::Any
        } else if all_warehouses {
            Home::EveryNth {
                first: client,
                step: clients,
                count: warehouses.div_ceil(clients),
            }
        } else if profile.spread_homes {
            let index = u64::from(client) * u64::from(warehouses) / u64::from(clients);
            Home::One(index as u32 + 1)
        } else {
            Home::One(random.uniform(1, warehouses.into()) as u32)
        };
        let district = if profile.spread_homes {
            client % DISTRICTS + 1
        } else {
            random.uniform(1, DISTRICTS.into()) as u32
        };
        InputGenerator {
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
        let w_id = self.draw_warehouse();
        let d_id = self.uniform(1, DISTRICTS);
        let c_id = self.draw_customer();
        let count = self.uniform(5, LINES_MAX as u32) as usize;
        let has_unused_item = self.uniform(1, 100) == 1;
        let mut lines = [OrderLine::default(); LINES_MAX];
        for (index, line) in lines[..count].iter_mut().enumerate() {
            let item = if self.profile.non_uniform {
                self.draw_non_uniform(self.constants.item)
            } else {
                self.uniform(1, ITEMS)
            };
            let remote = self.uniform(1, 100) == 1;
            *line = OrderLine {
                item: if has_unused_item && index + 1 == count { UNUSED_ITEM } else { item },
                supply: if remote { self.draw_other_warehouse(w_id) } else { w_id },
                quantity: self.uniform(1, 10),
                wave: 1,
            };
        }
        let existing_items = count - usize::from(has_unused_item);
        lines[..existing_items]
            .sort_unstable_by_key(|line| (line.supply, line.item, line.quantity));
        for index in 1..existing_items {
            let (previous, line) = (lines[index - 1], &mut lines[index]);
            if (previous.supply, previous.item) == (line.supply, line.item) {
                line.wave = previous.wave + 1;
            }
        }
        NewOrder {
            w_id,
            d_id,
            c_id,
            lines,
            count,
            has_unused_item,
        }
    }

    /// Input of a payment [2.5.1].
    pub fn payment(&mut self) -> Payment {
        let w_id = self.draw_warehouse();
        let d_id = self.uniform(1, DISTRICTS);
        let (c_w_id, c_d_id) = if self.uniform(1, 100) <= 85 {
            (w_id, d_id)
        } else {
            (self.draw_other_warehouse(w_id), self.uniform(1, DISTRICTS))
        };
        let customer = self.draw_customer_key();
        let cents = if self.profile.amounts_have_cents {
            self.random.uniform(100, 500_000)
        } else {
            self.random.uniform(1, 5_000) * 100
        };
        Payment {
            w_id,
            d_id,
            c_w_id,
            c_d_id,
            customer,
            cents,
        }
    }

    /// Input of an order-status [2.6.1].
    pub fn order_status(&mut self) -> OrderStatus {
        OrderStatus {
            w_id: self.draw_warehouse(),
            d_id: self.uniform(1, DISTRICTS),
            customer: self.draw_customer_key(),
        }
    }

    /// Input of a delivery [2.7.1].
    pub fn delivery(&mut self) -> Delivery {
        Delivery {
            w_id: self.draw_warehouse(),
            carrier: self.uniform(1, 10),
        }
    }

    /// Input of a stock-level [2.8.1].
    pub fn stock_level(&mut self) -> StockLevel {
        StockLevel {
            w_id: self.draw_warehouse(),
            d_id: self.district,
            threshold: self.uniform(10, 20),
        }
    }

    fn draw_warehouse(&mut self) -> u32 {
        match self.home {
            Home::One(w_id) => w_id,
            Home::Any => self.uniform(1, self.warehouses),
            Home::EveryNth { first, step, count } => {
                let index = u64::from(self.uniform(0, count - 1)) * u64::from(step);
                ((u64::from(first) + index) % u64::from(self.warehouses)) as u32 + 1
            }
        }
    }

    /// A random warehouse other than `w_id`, or `w_id` if there is only one.
    fn draw_other_warehouse(&mut self, w_id: u32) -> u32 {
        if self.warehouses == 1 {
            return w_id;
        }
        let number = self.uniform(1, self.warehouses - 1);
        number + u32::from(number >= w_id)
    }

    fn draw_customer(&mut self) -> u32 {
        if self.profile.non_uniform {
            self.draw_non_uniform(self.constants.customer)
        } else {
            self.uniform(1, CUSTOMERS)
        }
    }

    /// Draws the customer; 60 % by last name.
    fn draw_customer_key(&mut self) -> CustomerKey {
        if self.uniform(1, 100) > 60 {
            return CustomerKey::Number(self.draw_customer());
        }
        let distribution = if self.profile.own_last_name_constant {
            self.constants.last_name
        } else {
            NuRand::LOAD_LAST_NAMES
        };
        CustomerKey::Name {
            name: self.draw_non_uniform(distribution),
            fallback: (!self.profile.finds_names).then(|| self.draw_customer()),
        }
    }

    fn draw_non_uniform(&mut self, distribution: NuRand) -> u32 {
        distribution.draw(|low, high| self.random.uniform(low.into(), high.into()) as u32)
    }

    fn uniform(&mut self, low: u32, high: u32) -> u32 {
        self.random.uniform(low.into(), high.into()) as u32
    }
}
