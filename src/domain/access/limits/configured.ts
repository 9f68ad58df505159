/** The limits of operations that an installation can configure. */

/** Limits from the configuration. */
export interface Limits {
  /** The largest response of an http tool, in bytes. */
  maxResponseBytes: number
  /** Time for one tool call unless the tool says otherwise, in milliseconds. */
  toolTimeoutMs: number
  /** How long a worker holds a claimed row without a heartbeat, in milliseconds. */
  leaseMs: number
  /** How long an equal request without an idempotency key joins the run of the first one, in milliseconds; 0: never. */
  joinWindowMs: number
  /** For one model attempt, in milliseconds: time to the first chunk, between chunks, and in total. */
  modelFirstChunkMs: number
  modelIdleMs: number
  modelTotalMs: number
  /** The largest file, in bytes. */
  maxFileBytes: number
  /** The most open streams, sockets and held requests of one key, and of all keys of a project, on one replica. */
  maxStreamsPerKey: number
  maxStreamsPerProject: number
  /** The bytes of all files of one project together. */
  maxProjectFileBytes: number
  /** Accepted media types of files, such as `text/csv` or `image/*`. */
  fileTypes: readonly string[]
  /** The most tools, agents, keys, providers, secrets, grants and files, of each kind, in a project. */
  maxRowsPerProject: number
  /** The most webhooks of a project, and the most callbacks that are not finished. */
  maxWebhooksPerProject: number
  maxCallbacksPerProject: number
  /** Time for one delivery of a webhook, in milliseconds. */
  webhookTimeoutMs: number
  /** The base URL of Slack's Web API, without a final slash. */
  slackApiUrl: string
}
