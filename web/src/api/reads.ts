/** Documents of queries that read one thing by its id, or a list page by page: what is shown of each is a fragment. */
import { compose, nameOf, type Fragment, type graphql, type TadaDocumentNode } from './document.ts'
import type { Connection } from './pages.ts'
import type { introspection } from './schema-types.d.ts'

type Field = keyof introspection['types']['Query']['fields']
/** The variables of a text such as `$kind:ToolKind $name:String`. */
type Values<Text extends string> = Text extends `${infer First} ${infer Rest}`
  ? Values<First> & Values<Rest>
  : Text extends `$${infer Name}:${infer Type}`
    ? { [_ in Name]?: ReturnType<typeof graphql.scalar<Type>> | null }
    : unknown
type One<Name extends Field, Node> = TadaDocumentNode<Record<Name, Node | null>, { id: string }>
type List<Name extends Field, Node, Types extends string> = TadaDocumentNode<
  Record<Name, Connection<Node>>,
  Values<Types> & { first?: number; after?: string | null }
>

/** Reads the thing with an id; null where there is none. */
export function one<const Name extends Field, Node>(field: Name, shown: Fragment<Node>): One<Name, Node> {
  const name = nameOf(shown)
  return compose(`query ${name}ById($id: ID!) { ${field}(id: $id) { ...${name} } }`, shown)
}

/** A list of the project, 50 nodes a page unless `first` says otherwise; `types`: its other arguments. */
export function list<const Name extends Field, Node, const Types extends string = ''>(
  field: Name,
  shown: Fragment<Node>,
  types?: Types,
): List<Name, Node, Types> {
  const name = nameOf(shown)
  const variables = `$projectId:ID ${types ?? ''} $first:Int=50 $after:String`
  const given = variables.replaceAll(/\$(\w+)\S+/g, '$1:$$$1')
  const page = `nodes { ...${name} } pageInfo { endCursor,hasNextPage }`
  return compose(`query ${name}List(${variables}) { ${field}(${given}) { ${page} } }`, shown)
}
