from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Question',
            fields=[
                ('key', models.CharField(help_text='Hash of kind, content and the version of the software.', max_length=64, primary_key=True, serialize=False)),
                ('kind', models.CharField(help_text='Which function answers it.', max_length=40)),
                ('content', models.TextField(help_text='What is asked, as JSON.')),
                ('answer', models.TextField(blank=True, help_text='As JSON; a part of it until it has ended, first empty.')),
                ('refusal', models.JSONField(help_text='Field and message, if the answer is a refusal.', null=True)),
                ('asked_at', models.DateTimeField(help_text='When it was last sent to a worker, or answered without one.')),
                ('sendings', models.PositiveIntegerField(default=0, help_text='Messages since a worker last began with it.')),
                ('due_at', models.DateTimeField(help_text='Until when a worker is expected to begin, or to end.')),
                ('begun_at', models.DateTimeField(help_text='When a worker began with it.', null=True)),
                ('ended_at', models.DateTimeField(help_text='When the answer was complete or given up.', null=True)),
                ('complete', models.BooleanField(default=False, help_text='Whether nothing is missing in the answer.')),
            ],
            options={
                'indexes': [models.Index(fields=['kind', 'ended_at'], name='question_of_kind')],
            },
        ),
    ]
