/** What every mutation is asked for when it is refused. */
import { graphql } from './document.ts'

export const faults = graphql(`
  fragment Faults on Error {
    code
    message
    ... on ValidationError {
      issues {
        path
        message
      }
    }
  }
`)
