/** The hint that a project's log has grown, for requests that wait for a call outside generations. */
import type { Services } from '../access/index.ts'

export function publishNews({ pubsub }: Pick<Services, 'pubsub'>, projectId: string): void {
  pubsub.publish([{ kind: 'news', projectId, generationId: null, seq: null }])
}
