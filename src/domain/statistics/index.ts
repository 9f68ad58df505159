/** The entry point of statistics. */
export { type ProjectSummary, summariseProject, countAttention, type Attention } from './project-summary.ts'
export { type SecretUse, secretUserKinds, usesOfSecrets } from './secret-uses.ts'
export { mostSpending, type Spending, type ToolFigures, mostTools } from './spending.ts'
export { type Bucket, type Statistics, bucketSizes, mostBuckets, readStatistics } from './statistics.ts'
