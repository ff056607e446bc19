//! The entities that policies refer to, each with its attributes and all its ancestors.

use std::collections::HashMap;
use std::sync::Arc;

use crate::names::{Names, Node};
use crate::value::{EntityUid, Record, Uid};
use crate::{Error, convert, graph};

/// The entities, for Cedar and for compiled policies.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) cedar: cedar_policy::Entities,
    names: Names,
    entities: Vec<Entity>,
}

/// One entity.
#[derive(Debug, Default)]
struct Entity {
    /// `None` if the entity is only named as a parent.
    attributes: Option<Record>,
    /// The sorted ancestors, without the entity itself.
    ancestors: Box<[Node]>,
}

impl World {
    /// Reads entities in Cedar's JSON form, and adds the entities of the schema's actions.
    pub(crate) fn parse(text: &str, schema: Option<&cedar_policy::Schema>) -> Result<Self, Error> {
        let json = graph::parse(text)?;
        let cedar = cedar_policy::Entities::from_json_value(json, schema);
        let mut world = Self {
            cedar: cedar.map_err(|error| graph::refused(&error))?,
            names: Names::default(),
            entities: Vec::new(),
        };
        // Cedar's names are slow to compare and convert, so each is converted once.
        let mut converted = HashMap::new();
        for entity in world.cedar.iter() {
            let attributes = entity.attrs().map(|(name, value)| {
                let value = value.map_err(|error| Error::Entities {
                    reason: error.to_string(),
                })?;
                Ok((name, convert::value(value)?))
            });
            let attributes = Record::new(attributes.collect::<Result<Vec<_>, Error>>()?)?;
            let uid = entity.uid();
            let mut number = |uid: &cedar_policy::EntityUid| {
                let node = converted.get(uid).copied();
                node.unwrap_or_else(|| {
                    let node = world.names.number(convert::uid(uid).borrowed());
                    converted.insert(uid.clone(), node);
                    node
                })
            };
            let node = number(&uid);
            let ancestors = world.cedar.ancestors(&uid).into_iter().flatten();
            let mut ancestors: Vec<Node> = ancestors.map(&mut number).collect();
            ancestors.sort_unstable();
            let all = world.names.end() as usize;
            world.entities.resize_with(all, Entity::default);
            world.entities[node as usize] = Entity {
                attributes: Some(attributes),
                ancestors: ancestors.into(),
            };
        }
        Ok(world)
    }

    /// All entities, and the entities that they name as their parents.
    pub(crate) fn uids(&self) -> Vec<EntityUid> {
        let all = 0..self.names.end();
        all.map(|node| {
            let uid = self.names.uid(node);
            EntityUid::new(uid.type_name, uid.id)
        })
        .collect()
    }
}

/// The entities of a world, and numbers for the entities that only policies name.
#[derive(Debug)]
pub(crate) struct Nodes {
    pub(crate) world: Arc<World>,
    others: Names,
}

impl Nodes {
    pub(crate) fn new(world: Arc<World>) -> Self {
        let others = Names::from(world.names.end());
        Self { world, others }
    }

    /// The number of an entity, if it has one.
    #[inline]
    pub(crate) fn find(&self, uid: Uid<'_>) -> Option<Node> {
        self.world.names.find(uid).or_else(|| self.others.find(uid))
    }

    /// The number of an entity, which gets a new number if it has none yet.
    pub(crate) fn number(&mut self, uid: Uid<'_>) -> Node {
        let node = self.world.names.find(uid);
        node.unwrap_or_else(|| self.others.number(uid))
    }

    /// All numbers.
    pub(crate) fn all(&self) -> core::ops::Range<Node> {
        0..self.others.end()
    }

    /// The ancestors of an entity, sorted, without itself.
    #[inline]
    pub(crate) fn ancestors(&self, node: Node) -> &[Node] {
        let entity = self.world.entities.get(node as usize);
        entity.map_or(&[], |entity| &entity.ancestors)
    }

    /// The attributes of an entity, if it exists.
    #[inline]
    pub(crate) fn attributes(&self, node: Node) -> Option<&Record> {
        self.world.entities.get(node as usize)?.attributes.as_ref()
    }

    /// True if `node` is `ancestor` or has it as an ancestor.
    #[inline]
    pub(crate) fn is_in(&self, node: Node, ancestor: Node) -> bool {
        node == ancestor || self.ancestors(node).binary_search(&ancestor).is_ok()
    }
}
