/** The entry point of statistics. */
export { summariseProject, countAttention, type Attention, projectSummary } from './project-summary.ts'
export { type SecretUse, usesOfSecrets, secretUse } from './secret-uses.ts'
export { type Spending, spendingShape } from './spending.ts'
export { bucketSize, mostBuckets, readStatistics, statistics } from './statistics.ts'
