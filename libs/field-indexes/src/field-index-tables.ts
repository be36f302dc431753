/** What a service's migration makes for its indexes of custom fields. It is part of migrations that were applied: a change of it is a new one. */
export function createFieldIndexTables(schema: string): readonly string[] {
  return [
    `CREATE TABLE ${schema}.field_indexes (
       app_id     text NOT NULL,
       class_name text NOT NULL,
       fields     text[] NOT NULL,
       index_name text NOT NULL,
       state      text NOT NULL DEFAULT 'building',
       problem    text,
       changed_at timestamptz(3) NOT NULL DEFAULT now(),
       CONSTRAINT field_indexes_pkey PRIMARY KEY (app_id, class_name, fields),
       CONSTRAINT field_indexes_index_name_key UNIQUE (index_name),
       CONSTRAINT field_indexes_state_check CHECK (state IN ('building', 'ready', 'failed', 'removing'))
     )`,
    `CREATE TABLE ${schema}.slow_questions (
       app_id     text NOT NULL,
       class_name text NOT NULL,
       question   text COLLATE "C" NOT NULL,
       hour       timestamptz(0) NOT NULL,
       fields     text[] NOT NULL,
       runs       int NOT NULL,
       total_ms   float8 NOT NULL,
       max_ms     float8 NOT NULL,
       CONSTRAINT slow_questions_pkey PRIMARY KEY (app_id, class_name, question, hour)
     )`,
  ];
}
