//! Short sentences about dishes, cities and tools.

/// For each dish: name, warmth, kind, country, ingredients.
const DISHES: &str = "\
Ramen | warm | noodle soup | Japan | noodles, broth and egg
Gazpacho | cold | soup | Spain | tomatoes and cucumber
Goulash | warm | stew | Hungary | beef and paprika
Sorbet | cold | dessert | France | fruit and sugar
Pho | warm | noodle soup | Vietnam | noodles, beef and herbs
Tabbouleh | cold | salad | Lebanon | parsley and bulgur
Chili | warm | stew | Texas | beans and peppers
Sushi | cold | fish dish | Japan | rice and raw fish
Risotto | warm | rice dish | Italy | rice, broth and cheese
Ceviche | cold | fish dish | Peru | raw fish and lime
Borscht | warm | beet soup | Ukraine | beets and cabbage
Gelato | cold | dessert | Italy | milk and sugar
Moussaka | warm | casserole | Greece | eggplant and lamb
Coleslaw | cold | salad | Ireland | cabbage and carrots
Fondue | warm | cheese dish | Switzerland | cheese and wine
Tiramisu | cold | dessert | Italy | coffee and biscuits
Paella | warm | rice dish | Spain | rice and seafood
Kimchi | cold | side dish | Korea | cabbage and chili
Dal | warm | lentil stew | India | lentils and spices
Panna cotta | cold | dessert | Italy | cream and vanilla
";

/// For each city: name, country, water, sight.
const CITIES: &str = "\
Lisbon | Portugal | the river Tagus | trams and hills
Vienna | Austria | the river Danube | opera and palaces
Kyoto | Japan | the river Kamo | temples and gardens
Cairo | Egypt | the river Nile | pyramids and museums
Oslo | Norway | the sea | ski jump and ships
Naples | Italy | the sea | volcano and harbour
Prague | Czechia | the river Vltava | bridges and castle
Sydney | Australia | the sea | beaches and opera
Geneva | Switzerland | the lake | fountain and mountains
Istanbul | Turkey | the sea | mosques and markets
Bergen | Norway | the sea | wooden houses and rain
Budapest | Hungary | the river Danube | baths and bridges
Mumbai | India | the sea | markets and films
Quebec | Canada | the river Saint Lawrence | walls and snow
Athens | Greece | the sea | ruins and hills
Chicago | Illinois | the lake | towers and museums
Zurich | Switzerland | the lake | banks and mountains
Porto | Portugal | the river Douro | bridges and wine
Hanoi | Vietnam | the lake | markets and motorbikes
Dublin | Ireland | the river Liffey | pubs and libraries
";

/// For each tool: name, use, material, owner.
const TOOLS: &str = "\
saw | cut wood | steel | Carpenters
hammer | drive nails | iron | Builders
spade | dig in soil | steel | Gardeners
kettle | boil water | copper | Cooks
chisel | carve wood | steel | Sculptors
brush | paint walls | bristles | Painters
wrench | turn bolts | chrome | Mechanics
rake | gather leaves | bamboo | Gardeners
needle | sew cloth | steel | Tailors
drill | bore holes | aluminium | Builders
trowel | lay bricks | steel | Masons
whisk | beat eggs | wire | Bakers
plane | smooth boards | beech | Carpenters
sickle | mow grass | steel | Farmers
ladle | serve soup | tin | Cooks
file | sharpen blades | steel | Smiths
level | check floors | glass | Masons
hose | water plants | rubber | Gardeners
scissors | cut paper | steel | Tailors
ladder | reach roofs | aluminium | Painters
";

/// All texts, with their ids.
pub(super) fn all() -> Vec<(String, String)> {
    let dishes = rows(DISHES)
        .flat_map(|row| dish(&row))
        .map(|text| ("dish", text));
    let cities = rows(CITIES)
        .flat_map(|row| city(&row))
        .map(|text| ("city", text));
    let tools = rows(TOOLS)
        .flat_map(|row| tool(&row))
        .map(|text| ("tool", text));
    let all = dishes.chain(cities).chain(tools).zip(1..);
    all.map(|((kind, text), number)| (format!("{kind}-{number}"), text))
        .collect()
}

/// The rows of a table, one per line. Missing texts are empty.
fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    table.lines().map(|line| {
        let mut cells = line.split(" | ");
        std::array::from_fn(|_| cells.next().unwrap_or_default())
    })
}

fn dish([name, warmth, kind, land, parts]: &[&str; 5]) -> [String; 7] {
    [
        format!("{name} is a {warmth} {kind} to eat from {land}."),
        format!("In {land} people eat {name}, a {kind} of {parts}."),
        format!("{name} is made of {parts} and served {warmth}."),
        format!("To cook {name}, take {parts}."),
        format!("{name} tastes best {warmth}, on the day that it is made."),
        format!("Cooks in {land} make {name} with {parts}."),
        format!("{name} on the menu means a {warmth} {kind} with {parts}."),
    ]
}

fn city([name, country, water, sight]: &[&str; 4]) -> [String; 7] {
    [
        format!("{name} is a city in {country} by {water}."),
        format!("Travellers visit {name} for its {sight}."),
        format!("{name}, in {country}, is known for {sight}."),
        format!("Boats leave {name} for a day on {water}."),
        format!("Trains go to {name} from all of {country}."),
        format!("Walk past {sight} in {name} and you come to {water}."),
        format!("People from {country} go to {name} at the weekend."),
    ]
}

fn tool([name, purpose, material, owners]: &[&str; 4]) -> [String; 6] {
    [
        format!("The {name} is a tool to {purpose}."),
        format!("{owners} use the {name} to {purpose}."),
        format!("The {name} in the shed is made of {material}."),
        format!("With the {name} of {material} you can {purpose}."),
        format!("Buy the {name} before you want to {purpose}."),
        format!("{owners} keep the {name} dry, since it is made of {material}."),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn texts_and_ids_are_different_ones() {
        let texts = all();
        let different = |of: fn(&(String, String)) -> &String| {
            texts.iter().map(of).collect::<BTreeSet<_>>().len()
        };
        assert_eq!(texts.len(), 400);
        assert_eq!((different(|it| &it.0), different(|it| &it.1)), (400, 400));
    }
}
