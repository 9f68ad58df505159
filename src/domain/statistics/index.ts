/** The entry point of statistics. */
export { type ProjectSummary, summariseProject, countAttention, type Attention } from './project-summary.ts'
export { type SecretUse, secretUserKinds, usesOfSecrets } from './secret-uses.ts'
export { type Spending } from './spending.ts'
export { bucketSize, mostBuckets, readStatistics, statistics } from './statistics.ts'
