/** A gate as it is edited, and told in a few words. */
import { graphql, type FragmentOf } from './document.ts'

export const gateParts = graphql(`
  fragment Gate on GatePolicy {
    mode
    when
    source
    timeoutSeconds
    quorum
    excludeRequester
    approvers
    escalateAfterSeconds
    verdictLinks
    responses
    title
  }
`)

export type Gate = FragmentOf<typeof gateParts>
