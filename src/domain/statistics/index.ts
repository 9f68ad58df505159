/** The entry point of statistics. */
export { type ProjectSummary, summariseProject } from './project-summary.ts'
export { type SecretUse, secretUserKinds, usesOfSecrets } from './secret-uses.ts'
export { mostSpending, type Spending } from './spending.ts'
export { type Bucket, type Statistics, bucketSizes, mostBuckets, readStatistics } from './statistics.ts'
export { type ToolFigures, mostTools } from './tools.ts'
export { countAttention, type Attention } from './attention.ts'
