/** Style sheets that modules of the dashboard import: nothing of them is read here. */
declare module '*.css'
