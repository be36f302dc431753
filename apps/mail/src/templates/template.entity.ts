import { Column, Entity, Generated, PrimaryColumn } from 'typeorm';

@Entity('templates')
export class TemplateEntity {
  @PrimaryColumn('text', { name: 'app_id', primaryKeyConstraintName: 'templates_pkey' })
  appId!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'templates_pkey' })
  kind!: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'templates_pkey' })
  language!: string;

  @Column('text')
  subject!: string;

  @Column('text')
  html!: string;

  @Column('text')
  text!: string;

  @Column('uuid')
  @Generated('uuid')
  revision!: string;

  @Column({ type: 'timestamptz', name: 'updated_at', precision: 3, default: () => 'now()' })
  updatedAt!: Date;
}
