/** Who did something, wherever that is read. */
import { graphql, type FragmentOf } from './document.ts'

export const principal = graphql(`
  fragment PrincipalParts on Principal {
    id
    name
  }
`)

export type PrincipalParts = FragmentOf<typeof principal>
